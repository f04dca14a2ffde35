//! Operations on paths that do not block, because everything they need is in memory.
//!
//! `openat2` with `RESOLVE_CACHED` resolves a path only if all of it is in the directory cache.
//! What follows the resolution may still block: opening a FIFO waits for its other end, and network
//! and FUSE file systems ask a server or a daemon. Therefore:
//!
//! 1. The path is opened with `O_PATH`, which reaches the inode but does not open the file. This
//!    tells the type of the file and its device.
//! 2. Only files and directories on a device known to be local are opened. [`learn_device`]
//!    determines which devices are local. It runs on the blocking pool, because asking for the type
//!    of a file system may block.
//! 3. A path that passed these checks once is opened directly the next time. The type of the opened
//!    file is checked in both cases, because the path may lead to another file by now. If it leads
//!    to a FIFO, opening it has unblocked a writer, whose data would be lost if the FIFO were
//!    closed. So the FIFO stays open, and the pool waits for its writer ([`wait_for_writer`]).
//!
//! `locality_cache.rs` holds the cache of devices and paths, `fifo.rs` the wait for a writer.

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

/// Whether the file system on a device is local. The capacity exceeds the number of mounted file
/// systems that a program usually works on.
static DEVICES: LocalityCache<64> = LocalityCache::new();

/// Whether a path led to a file or directory on a local device. The capacity costs 8 KiB; a path
/// that was displaced costs one more system call.
static PATHS: LocalityCache<1024> = LocalityCache::new();

/// Opens a file or directory for reading. Returns `None` if that may block.
///
/// The descriptor is non-blocking, which has no effect on reads of files; [`set_blocking`] clears
/// the flag.
///
/// Also returns the length of the file. A FIFO has none; it must not be read before
/// [`wait_for_writer`] has returned.
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

/// Returns the metadata of a file, or `None` if that may block. With `O_NOFOLLOW` in `flags`, a
/// symbolic link is not followed.
pub(super) fn metadata(path: &Path, flags: i32) -> Option<io::Result<Metadata>> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    let probed = match probe(&path, flags)? {
        Ok(probed) => probed,
        Err(error) => return Some(Err(error)),
    };
    probed.is_local().then(|| probed.file.metadata())
}

/// Returns whether the path exists, or `None` if finding out may block.
pub(super) fn exists(path: &Path) -> Option<io::Result<bool>> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    match open_cached(&path, libc::O_PATH)? {
        Ok(_) => Some(Ok(true)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Some(Ok(false)),
        Err(error) => Some(Err(error)),
    }
}

/// Clears the non-blocking flag of a file that [`open`] returned, so the descriptor is as `std`
/// opens it.
pub(super) fn set_blocking(file: &File) {
    // SAFETY: `F_SETFL` with an integer argument accesses no memory of this process. The call
    // overwrites all status flags, but `open` set no other (`O_LARGEFILE` cannot be changed), and
    // it cannot fail for an open descriptor.
    unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, 0) };
}

/// Determines and caches whether the device of `file` has a local file system. Returns whether
/// `file` is a file or directory on a local device. May block.
pub(super) fn learn_device(file: &File) -> bool {
    let Ok(metadata) = file.metadata() else { return false };
    let key = device_key(metadata.dev());
    let is_local = DEVICES.get(key).unwrap_or_else(|| {
        // SAFETY: all fields of `statfs` are integers, for which all-zero bytes are valid.
        let mut statfs: libc::statfs = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live, writable local of the type that the kernel fills in.
        let failed = unsafe { libc::fstatfs(file.as_raw_fd(), &raw mut statfs) };
        let is_local = failed == 0 && LOCAL_FILE_SYSTEMS.contains(&(statfs.f_type as u32));
        DEVICES.set(key, is_local);
        is_local
    });
    is_local && (metadata.is_file() || metadata.is_dir())
}

/// Calls [`learn_device`] for the file at `path`, unless the device in `metadata` is known already.
pub(super) fn learn_device_at(path: &Path, metadata: &Metadata) {
    if DEVICES.get(device_key(metadata.dev())).is_none() {
        let file = File::options().read(true).custom_flags(libc::O_PATH).open(path);
        if let Ok(file) = file {
            learn_device(&file);
        }
    }
}

/// The file systems that answer from memory or a local disk, by their magic numbers in
/// `linux/magic.h`. An overlay counts as local, since its layers nearly always are.
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

/// The inode that a path leads to.
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

/// Resolves a cached path without opening the file. Reads the type and device of the inode from
/// memory.
fn probe(path: &CStr, flags: i32) -> Option<io::Result<Probed>> {
    let file = match open_cached(path, libc::O_PATH | flags)? {
        Ok(file) => file,
        Err(error) => return Some(Err(error)),
    };
    // SAFETY: all fields of `statx` are integers, for which all-zero bytes are valid.
    let mut statx: libc::statx = unsafe { std::mem::zeroed() };
    let what = libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC;
    // SAFETY: the path is NUL-terminated, and `statx` is a live, writable local of the type that
    // the kernel fills in.
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

/// Opens a path if all of it is in the directory cache. Returns only errors that the blocking call
/// would return too; for all others returns `None`.
fn open_cached(path: &CStr, flags: i32) -> Option<io::Result<File>> {
    /// Set once the kernel turned out not to know the call or the flag, or a sandbox to forbid it.
    static UNAVAILABLE: AtomicBool = AtomicBool::new(false);
    if UNAVAILABLE.load(Relaxed) {
        return None;
    }
    // SAFETY: all fields of `open_how` are integers, for which all-zero bytes are valid.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (flags | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_CACHED;
    let (path, how, size) = (path.as_ptr(), &raw const how, size_of_val(&how));
    // SAFETY: the path is NUL-terminated, and `how` is a live local of `size` bytes. The kernel
    // only reads both.
    let fd = unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, path, how, size) };
    if fd >= 0 {
        // SAFETY: `openat2` just returned this descriptor, so nothing else owns it.
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

/// Returns whether a device is known to have a local file system.
fn is_local(device: u64) -> bool {
    DEVICES.get(device_key(device)) == Some(true)
}

fn device_key(device: u64) -> Key {
    Key::of(&device.to_le_bytes())
}
