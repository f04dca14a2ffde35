//! The CPU time that a thread has used.

use std::time::Duration;

/// Returns the CPU time that the calling thread has used so far.
///
/// Returns `None` if the platform does not report it. Costs a system call; see bench/NOTES.md: CPU
/// time of a thread.
pub fn of_this_thread() -> Option<Duration> {
    clock::thread_time()
}

/// The clock of the CPU time that one thread has used. Any thread can read it.
#[derive(Debug, Clone, Copy)]
pub struct ThreadClock(clock::ClockId);

impl ThreadClock {
    /// Returns the clock of the calling thread, or `None` if the platform has no such clock.
    pub fn of_this_thread() -> Option<ThreadClock> {
        clock::thread_clock().map(ThreadClock)
    }

    /// Returns the CPU time that the thread has used so far, or `None` if it has ended.
    ///
    /// If a new thread of the process has got the id of one that has ended, the time is that of the
    /// new thread. Costs a system call.
    pub fn now(self) -> Option<Duration> {
        clock::time_of(self.0)
    }
}

/// The system call, declared here because this crate depends on nothing but std.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri)),
))]
mod clock {
    use std::ffi::{c_int, c_long, c_ulong};
    use std::time::Duration;

    pub(super) type ClockId = c_int;

    const CLOCK_THREAD_CPUTIME_ID: c_int = 3;

    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: c_long,
    }

    unsafe extern "C" {
        fn clock_gettime(clock: ClockId, time: *mut Timespec) -> c_int;
        fn pthread_self() -> c_ulong;
        fn pthread_getcpuclockid(thread: c_ulong, clock: *mut ClockId) -> c_int;
    }

    pub(super) fn thread_time() -> Option<Duration> {
        time_of(CLOCK_THREAD_CPUTIME_ID)
    }

    pub(super) fn thread_clock() -> Option<ClockId> {
        let mut clock = 0;
        // SAFETY: the calling thread is alive, and the C library writes one clock id to `clock`,
        // which lives until the call returns.
        let result = unsafe { pthread_getcpuclockid(pthread_self(), &mut clock) };
        (result == 0).then_some(clock)
    }

    pub(super) fn time_of(clock: ClockId) -> Option<Duration> {
        let mut time = Timespec { seconds: 0, nanoseconds: 0 };
        // SAFETY: the kernel writes one `Timespec` to `time`, which lives until the call returns.
        // For a clock of a thread that has ended it returns an error.
        let result = unsafe { clock_gettime(clock, &mut time) };
        (result == 0).then(|| Duration::new(time.seconds as u64, time.nanoseconds as u32))
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri)),
)))]
mod clock {
    use std::time::Duration;

    /// There is no clock.
    pub(super) type ClockId = std::convert::Infallible;

    pub(super) fn thread_time() -> Option<Duration> {
        None
    }

    pub(super) fn thread_clock() -> Option<ClockId> {
        None
    }

    pub(super) fn time_of(clock: ClockId) -> Option<Duration> {
        match clock {}
    }
}

#[cfg(all(
    test,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri)),
))]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Instant;

    #[test]
    fn work_counts_and_sleep_does_not() {
        let begun = of_this_thread().unwrap();
        thread::sleep(Duration::from_millis(50));
        let slept = of_this_thread().unwrap();
        assert!(slept - begun < Duration::from_millis(50));
        let now = Instant::now();
        while of_this_thread().unwrap() - slept < Duration::from_millis(5) {}
        // The two clocks need not agree to the last microsecond.
        assert!(now.elapsed() >= Duration::from_millis(4));
    }

    #[test]
    fn another_thread_reads_the_clock() {
        let (sends, receives) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let spins = thread::spawn(move || {
            let begun = of_this_thread().unwrap();
            while of_this_thread().unwrap() - begun < Duration::from_millis(5) {}
            sends
                .send((ThreadClock::of_this_thread().unwrap(), of_this_thread().unwrap()))
                .unwrap();
            let _disconnected = released.recv();
        });
        let (clock, own) = receives.recv().unwrap();
        let read = clock.now().unwrap();
        assert!(read >= own, "{read:?} after {own:?}");
        drop(release);
        spins.join().unwrap();
    }
}
