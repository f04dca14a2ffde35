//! Room for descriptors, made while it costs nothing.
//!
//! The kernel doubles a process' table of descriptors when it is full. For a process of one thread that takes
//! microseconds; with more of them it waits until no CPU can be looking at the old one any more, 7 to 20 ms here. The one who
//! waits is the thread that opened a descriptor too many: that of a server which gets its 60th connection, its 124th, and
//! so on. A runtime is mostly made before any thread, so the table is made large enough for some thousand then.

use libc::c_int;
use std::fs::metadata;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What there is to be room for: 33 kB of the kernel's memory.
const ROOM: usize = 4096;

/// Has the table grow, if that is soon done, and has not been done before. Needs some open descriptor.
pub(super) fn make_room(any: c_int) {
    /// What there is room for, or will never be in no time.
    static MADE: AtomicUsize = AtomicUsize::new(0);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the limit is written to.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return;
    }
    let wanted = usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX).min(ROOM);
    if wanted <= MADE.load(Relaxed) {
        return;
    }
    if !is_alone() {
        // Who has had threads once mostly has them from then on: it is not asked for again.
        return MADE.store(ROOM, Relaxed);
    }
    // SAFETY: takes no pointer. What is closed was opened by us just now.
    unsafe {
        let copy = libc::fcntl(any, libc::F_DUPFD_CLOEXEC, wanted.saturating_sub(1) as c_int);
        if copy >= 0 {
            libc::close(copy);
        }
    }
    MADE.store(wanted, Relaxed);
}

/// Whether the process has no other thread, as far as can be known.
fn is_alone() -> bool {
    /// Those of a directory without others in it.
    const OWN_LINKS: u64 = 2;
    metadata("/proc/self/task").is_ok_and(|threads| threads.nlink() == OWN_LINKS + 1)
}
