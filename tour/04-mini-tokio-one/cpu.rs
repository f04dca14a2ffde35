//! How long a thread has been at work, as opposed to asleep or waiting for its turn.
//!
//! 一个线程真正在干活的时间，不算睡觉和排队等 CPU 的时间。

use std::time::Duration;

/// The CPU time that the current thread has used so far.
pub(super) fn thread_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is valid for writes, and is all that the call touches.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0, "every thread on Linux has a clock of its CPU time");
    // Both are small and not negative: a count since the thread began.
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
