//! Reads and writes that fail instead of blocking: `preadv2` and `pwritev2` with `RWF_NOWAIT`.
//!
//! A read succeeds if the bytes are in the page cache; a write succeeds if the file system can tell
//! that it has room and need not wait for a lock. Both use the cursor of the open file, as `read`
//! and `write` do. They can still wait for the lock of that cursor, if another thread uses a clone
//! of the file at the same time.

use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

/// The kernel's limit of slices per call (`UIO_MAXIOV`).
const SLICES_MAX: usize = 1024;

/// The result of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NowaitResult {
    /// The number of bytes transferred. A read of zero bytes means the end of the file.
    Done(usize),
    /// The transfer would have blocked.
    WouldBlock,
    /// The transfer failed for another reason, most likely because the file does not support it.
    /// Later tries would fail too.
    Unsupported,
}

/// Reads at the cursor into `room`. On [`NowaitResult::Done`] with `n`, the first `n` bytes of
/// `room` are initialized.
pub(super) fn read(file: &File, room: &mut [MaybeUninit<u8>]) -> NowaitResult {
    let slice = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: `slice` describes exactly the bytes of `room`, which is borrowed mutably for the
    // call. The kernel writes only to these.
    let answer = unsafe { transfer(libc::SYS_preadv2, file, &raw const slice, 1) };
    match answer {
        NowaitResult::Done(0) if !room.is_empty() && !reports_end_of_file_correctly() => {
            NowaitResult::WouldBlock
        }
        answer => answer,
    }
}

/// Writes at the cursor, or at the end if the file was opened for appending.
pub(super) fn write(file: &File, slices: &[IoSlice<'_>]) -> NowaitResult {
    let count = slices.len().min(SLICES_MAX);
    // SAFETY: `IoSlice` is guaranteed to be ABI compatible with `iovec`; each one borrows memory
    // that may be read for the call, and there are at least `count` of them.
    unsafe { transfer(libc::SYS_pwritev2, file, slices.as_ptr().cast(), count) }
}

/// Performs the system call `call`, which is `preadv2` or `pwritev2`.
///
/// # Safety
/// `slices` must point to `count` slices. Their memory must be valid for writes if `call` is a
/// read, and for reads if it is a write.
unsafe fn transfer(
    call: libc::c_long,
    file: &File,
    slices: *const libc::iovec,
    count: usize,
) -> NowaitResult {
    // An offset of -1 stands for the cursor. The two arguments are the halves of the offset.
    const AT_CURSOR: libc::c_long = -1;
    // The call is made by number because not every libc has these functions.
    //
    // SAFETY: the caller guarantees `count` slices with memory valid for this transfer. `file`
    // stays open for the call.
    let n = unsafe {
        libc::syscall(call, file.as_raw_fd(), slices, count, AT_CURSOR, AT_CURSOR, libc::RWF_NOWAIT)
    };
    if let Ok(n) = usize::try_from(n) {
        return NowaitResult::Done(n);
    }
    match io::Error::last_os_error().kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => NowaitResult::WouldBlock,
        _ => NowaitResult::Unsupported,
    }
}

/// Returns whether a read of zero bytes means the end of the file. Linux 5.9 and 5.10 also return
/// zero for reads that would block.
fn reports_end_of_file_correctly() -> bool {
    static CORRECT: OnceLock<bool> = OnceLock::new();
    *CORRECT.get_or_init(|| {
        // SAFETY: all fields of `utsname` are arrays of integers, for which all-zero bytes are
        // valid.
        let mut system: libc::utsname = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live, writable local of the type that the kernel fills in.
        if unsafe { libc::uname(&raw mut system) } == -1 {
            return false;
        }
        let release: Vec<u8> = system.release.iter().map(|&byte| byte as u8).collect();
        !release.starts_with(b"5.9.") && !release.starts_with(b"5.10.")
    })
}

/// Which of the two transfers are worth trying with a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct NowaitSupport {
    pub(super) read: bool,
    pub(super) write: bool,
}

impl NowaitSupport {
    pub(super) const NONE: NowaitSupport = NowaitSupport { read: false, write: false };

    /// Derives the support from the flags of the descriptor. Transfers that bypass the page cache
    /// (`O_DIRECT`), and writes that must reach the disk (`O_SYNC`, `O_DSYNC`), wait for the disk
    /// despite `RWF_NOWAIT`.
    pub(super) fn of(file: &File) -> NowaitSupport {
        // SAFETY: `F_GETFL` takes no further argument and accesses no memory of this process.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        if flags == -1 || flags & libc::O_DIRECT != 0 {
            return NowaitSupport::NONE;
        }
        NowaitSupport { read: true, write: flags & (libc::O_SYNC | libc::O_DSYNC) == 0 }
    }
}
