//! Grows the process's descriptor table while that is cheap.
//!
//! The kernel doubles a process's table of descriptors when it is full. With one thread that takes
//! microseconds. With several it waits for an RCU grace period, which blocks the thread that opens
//! the descriptor for milliseconds. In a server that happens at about the 60th connection, the
//! 124th, and so on (see bench/NOTES.md: descriptor table). Most programs create their runtime
//! before other threads, so the table is grown at that time.

use libc::c_int;
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The size to grow to. Enough for some thousand connections, at a cost of 33 kB of kernel memory.
const DESCRIPTORS: usize = 4096;

/// Grows the table once, if that is cheap. `any` is any open descriptor.
pub(super) fn grow_descriptor_table(any: c_int) {
    /// The size that the table has, or `DESCRIPTORS` if growing it is not cheap any more.
    static GROWN_TO: AtomicUsize = AtomicUsize::new(0);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the kernel writes to `limit`, which lives until the call returns.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return;
    }
    let wanted = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX).min(DESCRIPTORS);
    if wanted <= GROWN_TO.load(Relaxed) {
        return;
    }
    if !is_single_threaded() {
        // A process that has had several threads mostly has several from then on, so it is not
        // checked again.
        return GROWN_TO.store(DESCRIPTORS, Relaxed);
    }
    // SAFETY: the calls take integers only. The descriptor that is closed has just been created
    // here.
    unsafe {
        let copy = libc::fcntl(any, libc::F_DUPFD_CLOEXEC, wanted.saturating_sub(1) as c_int);
        if copy >= 0 {
            libc::close(copy);
        }
    }
    GROWN_TO.store(wanted, Relaxed);
}

/// Returns whether the process is known to have a single thread.
fn is_single_threaded() -> bool {
    /// The link count of a directory without subdirectories.
    const OWN_LINKS: u64 = 2;
    metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == OWN_LINKS + 1)
}
