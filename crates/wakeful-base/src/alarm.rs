//! A time at which a thread is woken up, which others may set, put off and take back.
//!
//! Each of these is a call to the kernel of about a microsecond. A wake-up costs ten times that and more, so for what is
//! mostly taken back an alarm is cheaper than a thread that wakes up to see that there is nothing to do.
//!
//! The kernel's part is `timerfd`. Where there is none, there are no alarms. Even where there is one it may be refused later, by a
//! filter of system calls, and then nobody could wake who waits for it. So there is a second descriptor, on which a call that fails says so.

use std::fmt;
use std::io;
use std::time::Duration;

/// One alarm, for one thread that waits.
///
/// It rings until it is set anew or taken back. When the kernel has refused either, it is broken: it never rings again, and all waits end.
pub struct Alarm {
    timer: timer::Timer,
}

impl Alarm {
    /// An alarm that is not set. Takes two descriptors.
    pub fn new() -> io::Result<Alarm> {
        Ok(Alarm { timer: timer::Timer::new()? })
    }

    /// Rings in so long. What was set before counts no more, even if it rings. An error says that it is broken.
    pub fn set(&self, left: Duration) -> io::Result<()> {
        // Zero would be no time at all.
        self.timer.set(left.max(Duration::from_nanos(1)))
    }

    /// As if it had not been set, and did not ring. An error says that it is broken.
    pub fn cancel(&self) -> io::Result<()> {
        self.timer.set(Duration::ZERO)
    }

    /// Waits until it rings. An error says that it is broken, or that the kernel lets nobody wait for it.
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
    use std::ffi::{c_int, c_long, c_short, c_uint, c_ulong};
    use std::fs::File;
    use std::io::{self, Write};
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::ptr;
    use std::time::Duration;

    const CLOCK_MONOTONIC: c_int = 1;
    // `TFD_CLOEXEC` and `EFD_CLOEXEC` are both that, and it is the same on all of these machines.
    const O_CLOEXEC: c_int = 0o2_000_000;
    const POLLIN: c_short = 1;
    const NO_TIMEOUT: c_int = -1;

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

    #[repr(C)]
    struct Poll {
        descriptor: c_int,
        events: c_short,
        returned: c_short,
    }

    unsafe extern "C" {
        fn eventfd(count: c_uint, flags: c_int) -> c_int;
        fn poll(polls: *mut Poll, len: c_ulong, timeout_ms: c_int) -> c_int;
        fn timerfd_create(clock: c_int, flags: c_int) -> c_int;
        fn timerfd_settime(
            timer: c_int,
            flags: c_int,
            new: *const Setting,
            old: *mut Setting,
        ) -> c_int;
    }

    pub(super) struct Timer {
        timer: OwnedFd,
        /// Readable once the timer is broken.
        broken: File,
    }

    impl Timer {
        pub(super) fn new() -> io::Result<Timer> {
            // SAFETY: the call takes two numbers.
            let timer = owned(unsafe { timerfd_create(CLOCK_MONOTONIC, O_CLOEXEC) })?;
            // SAFETY: as above.
            let broken = owned(unsafe { eventfd(0, O_CLOEXEC) })?.into();
            Ok(Timer { timer, broken })
        }

        #[cfg(test)]
        pub(super) fn descriptor(&self) -> c_int {
            self.timer.as_raw_fd()
        }

        /// With zero it is off.
        pub(super) fn set(&self, left: Duration) -> io::Result<()> {
            let spec = |time: Duration| Timespec {
                seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
                nanoseconds: time.subsec_nanos().into(),
            };
            let setting = Setting { interval: spec(Duration::ZERO), left: spec(left) };
            let timer = self.timer.as_raw_fd();
            // SAFETY: an open descriptor; the new setting lives through the call, and the old one is not asked for.
            if unsafe { timerfd_settime(timer, 0, &setting, ptr::null_mut()) } < 0 {
                return Err(self.break_for_good());
            }
            Ok(())
        }

        /// Says so to who waits. Returns what the kernel said.
        #[cold]
        fn break_for_good(&self) -> io::Error {
            let error = io::Error::last_os_error();
            // Fails only if that is closed, too: there is no way left, then.
            let _ = (&self.broken).write(&1_u64.to_ne_bytes());
            error
        }

        pub(super) fn wait(&self) -> io::Result<()> {
            let watch = |descriptor| Poll { descriptor, events: POLLIN, returned: 0 };
            let mut polls = [watch(self.timer.as_raw_fd()), watch(self.broken.as_raw_fd())];
            // Nothing is read: what rang is over when the timer is set, and what is broken stays so.
            // SAFETY: there are two of them, and they live through the call.
            while unsafe { poll(polls.as_mut_ptr(), 2, NO_TIMEOUT) } < 0 {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            match polls.map(|poll| poll.returned) {
                [POLLIN, 0] => Ok(()),
                _ => Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
    }

    /// What a call has made, if it did not fail.
    fn owned(descriptor: c_int) -> io::Result<OwnedFd> {
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor just made, which nobody else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
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

        pub(super) fn set(&self, _: Duration) -> io::Result<()> {
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
    use std::ffi::c_int;
    use std::fs::File;
    use std::os::fd::AsRawFd;
    use std::thread;
    use std::time::Instant;

    const SOON: Duration = Duration::from_millis(20);
    const LATE: Duration = Duration::from_secs(600);

    #[test]
    fn it_rings_when_its_time_has_come() {
        let (alarm, begun) = (Alarm::new().unwrap(), Instant::now());
        alarm.set(SOON).unwrap();
        alarm.wait().unwrap();
        assert!(begun.elapsed() >= SOON);
    }

    #[test]
    fn others_may_set_it_sooner_or_later() {
        let alarm = Alarm::new().unwrap();
        alarm.set(LATE).unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(SOON);
                alarm.set(Duration::ZERO).unwrap();
            });
            alarm.wait().unwrap();
        });
        let begun = Instant::now();
        alarm.set(SOON).unwrap();
        alarm.set(2 * SOON).unwrap();
        alarm.wait().unwrap();
        assert!(begun.elapsed() >= 2 * SOON);
    }

    #[test]
    fn what_is_taken_back_does_not_ring_even_if_it_has() {
        let alarm = Alarm::new().unwrap();
        alarm.set(Duration::ZERO).unwrap();
        thread::sleep(SOON);
        alarm.cancel().unwrap();
        let begun = Instant::now();
        alarm.set(SOON).unwrap();
        alarm.wait().unwrap();
        assert!(begun.elapsed() >= SOON);
    }

    #[test]
    fn it_rings_until_it_is_taken_back() {
        let alarm = Alarm::new().unwrap();
        alarm.set(Duration::ZERO).unwrap();
        alarm.wait().unwrap();
        alarm.wait().unwrap();
        alarm.cancel().unwrap();
        let begun = Instant::now();
        alarm.set(SOON).unwrap();
        alarm.wait().unwrap();
        assert!(begun.elapsed() >= SOON);
    }

    /// Somebody has put another file in the place of its descriptor, while one waits and after.
    #[test]
    fn one_that_breaks_ends_all_waits() {
        unsafe extern "C" {
            fn dup2(old: c_int, new: c_int) -> c_int;
        }
        let (alarm, other) = (Alarm::new().unwrap(), File::open("/dev/null").unwrap());
        alarm.set(LATE).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| alarm.wait());
            thread::sleep(SOON);
            let descriptor = alarm.timer.descriptor();
            // SAFETY: takes two numbers. The alarm owns the new file as it owned the old one.
            assert_eq!(unsafe { dup2(other.as_raw_fd(), descriptor) }, descriptor);
            alarm.set(LATE).unwrap_err();
            waits.join().unwrap().unwrap_err();
        });
        alarm.cancel().unwrap_err();
        alarm.wait().unwrap_err();
    }

    #[test]
    fn a_time_beyond_all_clocks_is_one() {
        let alarm = Alarm::new().unwrap();
        alarm.set(Duration::ZERO).unwrap();
        thread::sleep(SOON);
        // Refused, it would leave the one that has rung.
        alarm.set(Duration::MAX).unwrap();
        let begun = Instant::now();
        thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(SOON);
                alarm.set(Duration::ZERO).unwrap();
            });
            alarm.wait().unwrap();
        });
        assert!(begun.elapsed() >= SOON);
    }
}
