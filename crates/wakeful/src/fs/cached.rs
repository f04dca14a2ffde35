//! What can be done with a path without waiting.
//!
//! `openat2` with `RESOLVE_CACHED` follows a path only as far as the directory cache goes. That is no
//! promise for what comes then: to open a FIFO is to wait for its other end, and network file systems
//! and those of a FUSE daemon ask somebody else. So:
//!
//! 1. The path is opened with `O_PATH`, which gets at the inode and nothing behind it. That tells what
//!    it is, and on which device.
//! 2. Only files and directories on a device known to be local go further. Devices become known on the
//!    pool ([`learn_device`]), where to ask for the kind of a file system may take its time.
//! 3. A path that passed once is opened right away the next time. What was opened is looked at in either
//!    case, for it may not be what was there before. If it is a FIFO now its writer has been let in by us,
//!    and would lose what he writes if we went: so it stays open, and is waited for on the pool
//!    ([`wait_for_writer`]).

mod fifo;
mod locality_cache;

pub(super) use fifo::wait_for_writer;

use locality_cache::{Key, LocalityCache};
use std::ffi::{CStr, CString};
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Whether a device has a local file system.
static DEVICES: LocalityCache<64> = LocalityCache::new();

/// Whether a path led to a file or directory of a local device.
static PATHS: LocalityCache<1024> = LocalityCache::new();

/// Opens a file or directory to be read, unless that may mean to wait. It is non-blocking, which to read
/// it is all the same; [`set_blocking`] makes it as any other.
///
/// With it comes its length. What has none is a FIFO, and open only once [`wait_for_writer`] says so.
pub(super) fn open(path: &Path) -> Option<io::Result<(File, Option<u64>)>> {
    let bytes = path.as_os_str().as_bytes();
    let key = Key::of(bytes);
    let path = CString::new(bytes).ok()?;
    if PATHS.get(key) != Some(true) {
        match probe(&path, 0)? {
            Ok(probed) if probed.is_file_or_dir() && probed.is_local() => {}
            Ok(_) => return None,
            Err(error) => return Some(Err(error)),
        }
    }
    let file = match open_cached(&path, libc::O_RDONLY | libc::O_LARGEFILE | libc::O_NONBLOCK)? {
        Ok(file) => file,
        Err(error) => return Some(Err(error)),
    };
    let metadata = file.metadata().ok()?;
    let kind = metadata.file_type();
    let is_file_or_dir = kind.is_file() || kind.is_dir();
    PATHS.set(key, is_file_or_dir && is_local(metadata.dev()));
    (is_file_or_dir || kind.is_fifo()).then(|| Ok((file, is_file_or_dir.then_some(metadata.len()))))
}

/// What is known of a file, unless that may mean to wait; with `O_NOFOLLOW`, of a link itself.
pub(super) fn metadata(path: &Path, flags: i32) -> Option<io::Result<Metadata>> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let probed = match probe(&path, flags)? {
        Ok(probed) => probed,
        Err(error) => return Some(Err(error)),
    };
    probed.is_local().then(|| probed.file.metadata())
}

/// Whether there is something at this path, unless to know that may mean to wait.
pub(super) fn exists(path: &Path) -> Option<io::Result<bool>> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    match open_cached(&path, libc::O_PATH)? {
        Ok(_) => Some(Ok(true)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Ok(false)),
        Err(error) => Some(Err(error)),
    }
}

/// Makes a file that [`open`] gave what any other call would have given.
pub(super) fn set_blocking(file: &File) {
    // SAFETY: no memory is involved. There are no other flags to keep, and it does not fail.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, 0) };
}

/// Finds out whether `file` is one or a directory, on a device with a local file system. May block.
pub(super) fn learn_device(file: &File) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    let key = device_key(metadata.dev());
    let is_local = DEVICES.get(key).unwrap_or_else(|| {
        // SAFETY: all of its fields are numbers.
        let mut statfs: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel fills in what is ours.
        let failed = unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut statfs) };
        let is_local = failed == 0 && LOCAL_FILE_SYSTEMS.contains(&(statfs.f_type as u32));
        DEVICES.set(key, is_local);
        is_local
    });
    is_local && (metadata.is_file() || metadata.is_dir())
}

/// As [`learn_device`], of what lies at `path`, unless the device that `metadata` names is known.
pub(super) fn learn_device_at(path: &Path, metadata: &Metadata) {
    if DEVICES.get(device_key(metadata.dev())).is_none() {
        let file = File::options().read(true).custom_flags(libc::O_PATH).open(path);
        if let Ok(file) = file {
            learn_device(&file);
        }
    }
}

/// Those that answer from memory, or else from a disk: by the magic numbers in `linux/magic.h`. An
/// overlay counts as local; what it lies over nearly always is.
const LOCAL_FILE_SYSTEMS: [u32; 11] = [
    0x0000_ef53, // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0xf2f5_2010, // F2FS
    0xca45_1a4e, // bcachefs
    0x0102_1994, // tmpfs
    0x8584_58f6, // ramfs
    0x794c_7630, // overlayfs
    0x7371_7368, // SquashFS
    0xe0f5_e1e2, // EROFS
    0x0000_4d44, // FAT
];

/// What lies at a path.
struct Probed {
    /// Opened with `O_PATH`.
    file: File,
    mode: libc::mode_t,
    device: u64,
}

impl Probed {
    fn is_local(&self) -> bool {
        is_local(self.device)
    }

    fn is_file_or_dir(&self) -> bool {
        matches!(self.mode & libc::S_IFMT, libc::S_IFREG | libc::S_IFDIR)
    }
}

/// Follows a path that is cached, and looks at what is there as far as it is in memory.
fn probe(path: &CStr, flags: i32) -> Option<io::Result<Probed>> {
    let file = match open_cached(path, libc::O_PATH | flags)? {
        Ok(file) => file,
        Err(error) => return Some(Err(error)),
    };
    // SAFETY: all of its fields are numbers.
    let mut statx: libc::statx = unsafe { std::mem::zeroed() };
    let what = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    // SAFETY: the path ends with a zero, and the kernel fills in what is ours.
    let failed = unsafe {
        libc::syscall(
            libc::SYS_statx,
            file.as_raw_fd(),
            c"".as_ptr(),
            what,
            libc::STATX_TYPE,
            &raw mut statx,
        )
    };
    let device = libc::makedev(statx.stx_dev_major, statx.stx_dev_minor);
    let probed = Probed { file, mode: libc::mode_t::from(statx.stx_mode), device };
    (failed == 0).then_some(Ok(probed))
}

/// Opens a path that the directory cache knows. Errors are those that are certain.
fn open_cached(path: &CStr, flags: i32) -> Option<io::Result<File>> {
    /// The kernel does not know the call or the flag, or a sandbox forbids it.
    static UNAVAILABLE: AtomicBool = AtomicBool::new(false);
    if UNAVAILABLE.load(Relaxed) {
        return None;
    }
    // SAFETY: all of its fields are numbers.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_CACHED;
    let (path, how, size) = (path.as_ptr(), &raw const how, size_of_val(&how));
    // SAFETY: the path ends with a zero, and the size is that of `how`.
    let fd = unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path, how, size) };
    if fd >= 0 {
        // SAFETY: the kernel just gave us this descriptor.
        return Some(Ok(unsafe { File::from_raw_fd(fd as RawFd) }));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EACCES | libc::ENOTDIR) => Some(Err(error)),
        Some(libc::ENOSYS | libc::EPERM | libc::EINVAL | libc::E2BIG) => {
            UNAVAILABLE.store(true, Relaxed);
            None
        }
        _ => None,
    }
}

/// Whether a device is known to have a local file system.
fn is_local(device: u64) -> bool {
    DEVICES.get(device_key(device)) == Some(true)
}

fn device_key(device: u64) -> Key {
    Key::of(&device.to_le_bytes())
}
