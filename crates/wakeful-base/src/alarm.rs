//! A time at which a thread is woken up, which others may set, put off and take back.
//!
//! Each of these is a call to the kernel of about a microsecond. A wake-up costs ten times that and more, so for what is
//! mostly taken back an alarm is cheaper than a thread that wakes up to see that there is nothing to do.
//!
//! The kernel's part is `timerfd`. Where there is none, there are no alarms.

use std::fmt;
use std::io;
use std::time::Duration;

/// One alarm, for one thread that waits.
pub struct Alarm {
    timer: timer::Timer,
}

impl Alarm {
    /// An alarm that is not set. Takes a descriptor.
    pub fn new() -> io::Result<Alarm> {
        Ok(Alarm { timer: timer::Timer::new()? })
    }

    /// Rings once, in so long. What was set before counts no more, even if it rang and nobody has waited for it yet.
    pub fn set(&self, left: Duration) {
        // Zero would be no time at all.
        self.timer.set(left.max(Duration::from_nanos(1)));
    }

    /// As if it had not been set, and had not rung.
    pub fn cancel(&self) {
        self.timer.set(Duration::ZERO);
    }

    /// Waits until it rings, or has rung since the last wait. An error says that somebody closed its descriptor.
    pub fn wait(&self) -> io::Result<()> {
        self.timer.wait()
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarm").finish_non_exhaustive()
    }
}

/// The system calls; declared here, so that the lowest crate depends on nothing but std.
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri))
))]
mod timer {
    use std::ffi::{c_int, c_long};
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::ptr;
    use std::time::Duration;

    const CLOCK_MONOTONIC: c_int = 1;
    // `O_CLOEXEC`, which is the same on all of these machines.
    const TFD_CLOEXEC: c_int = 0o2_000_000;

    #[repr(C)]
    struct Timespec {
        seconds: i64,
        nanoseconds: c_long,
    }

    #[repr(C)]
    struct Setting {
        interval: Timespec,
        left: Timespec,
    }

    unsafe extern "C" {
        fn timerfd_create(clock: c_int, flags: c_int) -> c_int;
        fn timerfd_settime(
            timer: c_int,
            flags: c_int,
            new: *const Setting,
            old: *mut Setting,
        ) -> c_int;
    }

    pub(super) struct Timer(File);

    impl Timer {
        pub(super) fn new() -> io::Result<Timer> {
            // SAFETY: the call takes two numbers.
            let timer = unsafe { timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC) };
            if timer < 0 {
                return Err(io::Error::last_os_error());
            }
            // SAFETY: a descriptor just made, which nobody else owns.
            Ok(Timer(unsafe { OwnedFd::from_raw_fd(timer) }.into()))
        }

        /// With zero it is off.
        pub(super) fn set(&self, left: Duration) {
            let spec = |time: Duration| Timespec {
                seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
                nanoseconds: time.subsec_nanos().into(),
            };
            let setting = Setting { interval: spec(Duration::ZERO), left: spec(left) };
            // SAFETY: an open descriptor; the new setting lives through the call, and the old one is not asked for.
            // It can only fail for a descriptor that is none, which `wait` will tell.
            unsafe { timerfd_settime(self.0.as_raw_fd(), 0, &setting, ptr::null_mut()) };
        }

        pub(super) fn wait(&self) -> io::Result<()> {
            // Reads how often it rang. Interrupted, it goes on.
            (&self.0).read_exact(&mut [0; 8])
        }
    }
}

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri))
)))]
mod timer {
    use std::io;
    use std::time::Duration;

    pub(super) enum Timer {}

    impl Timer {
        pub(super) fn new() -> io::Result<Timer> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(super) fn set(&self, _: Duration) {
            match *self {}
        }

        pub(super) fn wait(&self) -> io::Result<()> {
            match *self {}
        }
    }
}

#[cfg(all(
    test,
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"),
    not(any(wakeful_loom, miri))
))]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Instant;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(600);

    #[test]
    fn it_rings_when_its_time_has_come() {
        let (alarm, begun) = (Alarm::new().unwrap(), Instant::now());
        alarm.set(SOON);
        alarm.wait().unwrap();
        assert!(begun.elapsed() >= SOON);
    }

    #[test]
    fn others_may_set_it_sooner_or_later() {
        let alarm = Alarm::new().unwrap();
        alarm.set(LATE);
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(SOON);
                alarm.set(Duration::ZERO);
            });
            alarm.wait().unwrap();
        });
        let begun = Instant::now();
        alarm.set(SOON);
        alarm.set(2 * SOON);
        alarm.wait().unwrap();
        assert!(begun.elapsed() >= 2 * SOON);
    }

    #[test]
    fn what_is_taken_back_does_not_ring_even_if_it_has() {
        let alarm = Alarm::new().unwrap();
        alarm.set(Duration::ZERO);
        thread::sleep(SOON);
        alarm.cancel();
        let begun = Instant::now();
        alarm.set(SOON);
        alarm.wait().unwrap();
        assert!(begun.elapsed() >= SOON);
    }

    #[test]
    fn a_time_beyond_all_clocks_is_one() {
        let alarm = Alarm::new().unwrap();
        alarm.set(Duration::ZERO);
        thread::sleep(SOON);
        // Refused, it would leave the one that has rung.
        alarm.set(Duration::MAX);
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(SOON);
                alarm.set(Duration::ZERO);
            });
            alarm.wait().unwrap();
        });
        assert!(begun.elapsed() >= SOON);
    }
}
