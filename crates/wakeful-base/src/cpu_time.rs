//! The CPU time that a thread has used.

use std::time::Duration;

/// Returns the CPU time that the calling thread has used so far.
///
/// Returns `None` if the platform does not report it. Costs a system call; see bench/NOTES.md: CPU
/// time of a thread.
pub fn of_this_thread() -> Option<Duration> {
    clock::thread_time()
}

/// The system call, declared here because this crate depends on nothing but std.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri)),
))]
mod clock {
    use std::ffi::{c_int, c_long};
    use std::time::Duration;

    const CLOCK_THREAD_CPUTIME_ID: c_int = 3;

    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: c_long,
    }

    unsafe extern "C" {
        fn clock_gettime(clock: c_int, time: *mut Timespec) -> c_int;
    }

    pub(super) fn thread_time() -> Option<Duration> {
        let mut time = Timespec { seconds: 0, nanoseconds: 0 };
        // SAFETY: the kernel writes one `Timespec` to `time`, which lives until the call returns.
        let result = unsafe { clock_gettime(CLOCK_THREAD_CPUTIME_ID, &mut time) };
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

    pub(super) fn thread_time() -> Option<Duration> {
        None
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
}
