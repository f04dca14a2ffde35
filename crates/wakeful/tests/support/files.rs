//! Files for tests.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wakeful::runtime::Runtime;

/// A directory that is removed with all that is in it.
pub struct TempDir(PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// A file with something in it.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    pub fn fifo(&self, name: &str) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let path = self.join(name);
        let c_path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the path ends with a zero.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _it_is_only_litter = std::fs::remove_dir_all(&self.0);
    }
}

/// The reading and the writing end of a pipe, both blocking.
pub fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: there is room for two.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    // SAFETY: the kernel just gave us these.
    ends.map(|fd| File::from(unsafe { OwnedFd::from_raw_fd(fd) })).into()
}

/// Has the kernel forget what it has of a file in memory, as far as it is on the disk.
pub fn forget_pages(file: &File, offset: i64, len: i64) {
    // SAFETY: no memory of ours is involved.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, len, libc::POSIX_FADV_DONTNEED) };
}

/// Whether files beside `path` can be opened and read on the spot. Opens it once, which makes the file
/// system known.
pub fn reads_at_once(path: &Path) -> bool {
    super::current_thread().block_on(wakeful::fs::File::open(path)).unwrap();
    let file = File::open(path).unwrap();
    let mut byte = 0u8;
    let slice = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: there is room for one byte.
    unsafe { libc::preadv2(file.as_raw_fd(), &raw const slice, 1, 0, libc::RWF_NOWAIT) >= 0 }
}

/// Whether files beside `path` can be written on the spot: most file systems cannot tell whether they
/// would have to wait.
pub fn writes_at_once(path: &Path) -> bool {
    let file = File::options().write(true).open(path).unwrap();
    let byte = 0u8;
    let slice = libc::iovec { iov_base: (&raw const byte).cast_mut().cast(), iov_len: 1 };
    // SAFETY: there is one byte.
    unsafe { libc::pwritev2(file.as_raw_fd(), &raw const slice, 1, 0, libc::RWF_NOWAIT) == 1 }
}

/// Whether the kernel follows this path without asking the file system.
pub fn is_in_directory_cache(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let c_path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: all of its fields are numbers.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_CACHED;
    let (c_path, how, size) = (c_path.as_ptr(), &raw const how, size_of_val(&how));
    // SAFETY: the path ends with a zero, and the size is that of `how`.
    let fd = unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, c_path, how, size) };
    if fd >= 0 {
        // SAFETY: the kernel just gave us this descriptor.
        drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        return true;
    }
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::NotFound
}

/// Asserts that a runtime needs no thread of its pool for `operations`.
///
/// The kernel may put us off once in a while: it may just have dropped a page, or want to note when a
/// link was last followed. So one of several times has to do.
pub fn needs_no_thread(operations: impl AsyncFn()) {
    let threads = || {
        let runtime = super::current_thread();
        runtime.block_on(operations());
        blocking_threads(&runtime)
    };
    assert!((0..5).any(|_| threads() == 0), "all five times a thread was started");
}

/// How many threads a runtime has started for what blocks.
pub fn blocking_threads(runtime: &Runtime) -> usize {
    runtime.metrics().num_blocking_threads()
}
