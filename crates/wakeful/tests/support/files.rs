//! Files and directories for tests.

use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wakeful::runtime::Runtime;

/// A directory that is removed with its contents on drop.
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

    /// Creates a file with these contents.
    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        std::fs::write(&path, contents).unwrap();
        path
    }

    pub fn fifo(&self, name: &str) -> PathBuf {
        use std::os::unix::ffi::OsStrExt;
        let path = self.join(name);
        let c_path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the path is NUL-terminated.
        assert_eq!(unsafe { libc::mkfifo(c_path.as_ptr(), 0o600) }, 0);
        path
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.0);
    }
}

/// Creates a pipe. Returns its read end and its write end, both blocking.
pub fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: `pipe2` writes two descriptors, and `ends` has room for two.
    assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
    // SAFETY: `pipe2` just returned these descriptors, so nothing else owns them.
    ends.map(|fd| File::from(unsafe { OwnedFd::from_raw_fd(fd) })).into()
}

/// Evicts a range of a file from the page cache, except for pages that are not on the disk yet.
pub fn evict_pages(file: &File, offset: i64, len: i64) {
    // SAFETY: the call takes integers only and accesses no memory of this process.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), offset, len, libc::POSIX_FADV_DONTNEED) };
}

/// Returns whether files on the file system of `path` can be opened and read inline. Opens `path`
/// once, so that the file system is known to be local.
pub fn reads_inline(path: &Path) -> bool {
    super::current_thread().block_on(wakeful::fs::File::open(path)).unwrap();
    let file = File::open(path).unwrap();
    let mut byte = 0u8;
    let slice = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: `slice` describes one live, writable byte.
    unsafe { libc::preadv2(file.as_raw_fd(), &raw const slice, 1, 0, libc::RWF_NOWAIT) >= 0 }
}

/// Returns whether files on the file system of `path` can be written inline. Most file systems
/// cannot tell whether a write would block.
pub fn writes_inline(path: &Path) -> bool {
    let file = File::options().write(true).open(path).unwrap();
    let byte = 0u8;
    let slice = libc::iovec { iov_base: (&raw const byte).cast_mut().cast(), iov_len: 1 };
    // SAFETY: `slice` describes one live byte, which the call only reads.
    unsafe { libc::pwritev2(file.as_raw_fd(), &raw const slice, 1, 0, libc::RWF_NOWAIT) == 1 }
}

/// Returns whether the kernel resolves `path` from the directory cache.
pub fn is_in_directory_cache(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let c_path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    // SAFETY: all fields of `open_how` are integers, for which all-zero bytes are valid.
    let mut how: libc::open_how = unsafe { std::mem::zeroed() };
    how.flags = (libc::O_PATH | libc::O_CLOEXEC) as u64;
    how.resolve = libc::RESOLVE_CACHED;
    let (c_path, how, size) = (c_path.as_ptr(), &raw const how, size_of_val(&how));
    // SAFETY: the path is NUL-terminated, and `how` is a live local of `size` bytes.
    let fd = unsafe { libc::syscall(libc::SYS_openat2, libc::AT_FDCWD, c_path, how, size) };
    if fd >= 0 {
        // SAFETY: `openat2` just returned this descriptor, so nothing else owns it.
        drop(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        return true;
    }
    std::io::Error::last_os_error().kind() == std::io::ErrorKind::NotFound
}

/// Asserts that `operations` start no thread of the blocking pool.
///
/// An inline operation may fail now and then, because the kernel has just evicted a page or must
/// update the access time of a link. So one success in five tries is enough.
pub fn needs_no_thread(operations: impl AsyncFn()) {
    let threads = || {
        let runtime = super::current_thread();
        runtime.block_on(operations());
        blocking_threads(&runtime)
    };
    assert!((0..5).any(|_| threads() == 0), "each of five tries started a thread");
}

/// Returns the number of threads in the blocking pool of `runtime`.
pub fn blocking_threads(runtime: &Runtime) -> usize {
    runtime.metrics().num_blocking_threads()
}
