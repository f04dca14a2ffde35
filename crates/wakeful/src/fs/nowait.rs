//! Transfers that the kernel carries out only if it need not wait: `preadv2` and `pwritev2` with
//! `RWF_NOWAIT`.
//!
//! A read is one from the page cache; a write is one to it, if the file system can tell that it has
//! room and no lock to wait for. They use the cursor of the open file, as `read` and `write` do. One wait
//! remains: for another thread that moves the same cursor at this moment, of a file that was cloned.

use std::fs::File;
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::sync::OnceLock;

/// The kernel takes no more slices at once.
const SLICES_MAX: usize = 1024;

/// What came of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NowaitResult {
    /// So many bytes. After a read of none the file is at its end.
    Done(usize),
    /// It would have to wait.
    WouldBlock,
    /// It failed in a way that makes another try pointless, for lack of support most likely.
    Unsupported,
}

/// Reads at the cursor into `room`, which is initialized as far as the answer says.
pub(super) fn read(file: &File, room: &mut [MaybeUninit<u8>]) -> NowaitResult {
    let slice = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: the kernel writes at most as many bytes to `room` as it has.
    let answer = unsafe { transfer(libc::SYS_preadv2, file, &raw const slice, 1) };
    match answer {
        NowaitResult::Done(0) if !room.is_empty() && !reports_end_of_file_correctly() => {
            NowaitResult::WouldBlock
        }
        answer => answer,
    }
}

/// Writes at the cursor, or at the end of a file opened to be appended to.
pub(super) fn write(file: &File, slices: &[IoSlice<'_>]) -> NowaitResult {
    let count = slices.len().min(SLICES_MAX);
    // SAFETY: an `IoSlice` is an `iovec` of memory that may be read.
    unsafe { transfer(libc::SYS_pwritev2, file, slices.as_ptr().cast(), count) }
}

/// # Safety
/// `slices` must point to `count` slices of memory that `call` may read, or write if it is a read.
unsafe fn transfer(
    call: libc::c_long,
    file: &File,
    slices: *const libc::iovec,
    count: usize,
) -> NowaitResult {
    // Both halves of an offset of -1: at the cursor.
    const AT_CURSOR: libc::c_long = -1;
    // SAFETY: the caller's promise. By number, as not every libc we may be linked to has the function.
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

/// Linux 5.9 and 5.10 answer zero where they should say that they would have to wait.
fn reports_end_of_file_correctly() -> bool {
    static CORRECT: OnceLock<bool> = OnceLock::new();
    *CORRECT.get_or_init(|| {
        // SAFETY: all of its fields are arrays of numbers.
        let mut system: libc::utsname = unsafe { std::mem::zeroed() };
        // SAFETY: the kernel fills in what is ours.
        if unsafe { libc::uname(&raw mut system) } == -1 {
            return false;
        }
        let release: Vec<u8> = system.release.iter().map(|&byte| byte as u8).collect();
        !release.starts_with(b"5.9.") && !release.starts_with(b"5.10.")
    })
}

/// Which of the calls a file is worth trying with.
#[derive(Debug, Clone, Copy)]
pub(super) struct NowaitSupport {
    pub(super) read: bool,
    pub(super) write: bool,
}

impl NowaitSupport {
    pub(super) const NONE: NowaitSupport = NowaitSupport { read: false, write: false };

    /// Looks at the flags of the descriptor: a transfer that bypasses the page cache, and a write
    /// that is to reach the disk, wait for the disk whatever they are told.
    pub(super) fn of(file: &File) -> NowaitSupport {
        // SAFETY: no memory is involved.
        let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
        if flags == -1 || flags & libc::O_DIRECT != 0 {
            return NowaitSupport::NONE;
        }
        NowaitSupport { read: true, write: flags & (libc::O_SYNC | libc::O_DSYNC) == 0 }
    }
}
