//! An alarm: wakes up a thread at a time that other threads can set, postpone and cancel.
//!
//! Setting or cancelling an alarm is one system call, which is much cheaper than a thread that
//! wakes up only to find nothing to do. It pays off when most alarms are cancelled before they
//! ring; see bench/NOTES.md: alarm.
//!
//! An alarm is a `timerfd`. On systems without one, [`Alarm::new`] fails. The kernel may also begin
//! to refuse calls later, when the process installs a system-call filter. The waiting thread could
//! then never be woken, so there is a second descriptor that reports a failed call to it.

use std::fmt;
use std::io;
use std::time::Duration;

/// An alarm for one waiting thread.
///
/// Once it rings, it keeps ringing until it is set again or cancelled. If the kernel refuses either
/// call, the alarm is broken: it never rings again, and every wait ends with an error.
pub struct Alarm {
    timer: timer::Timer,
}

impl Alarm {
    /// Creates an alarm that is not set. Uses two descriptors.
    pub fn new() -> io::Result<Alarm> {
        Ok(Alarm { timer: timer::Timer::new()? })
    }

    /// Makes the alarm ring after `left`.
    ///
    /// This replaces the previous setting, even if the alarm is ringing.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses the call. The alarm is broken from then on.
    pub fn set(&self, left: Duration) -> io::Result<()> {
        // The kernel takes zero as "off".
        self.timer.set(left.max(Duration::from_nanos(1)))
    }

    /// Cancels the alarm, even if it is ringing.
    ///
    /// # Errors
    /// Returns an error if the kernel refuses the call. The alarm is broken from then on.
    pub fn cancel(&self) -> io::Result<()> {
        self.timer.set(Duration::ZERO)
    }

    /// Waits until the alarm rings.
    ///
    /// # Errors
    /// Returns an error if the alarm is broken, or the kernel refuses to wait for it.
    pub fn wait(&self) -> io::Result<()> {
        self.timer.wait()
    }
}

impl fmt::Debug for Alarm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Alarm").finish_non_exhaustive()
    }
}

/// The system calls, declared here because this crate depends on nothing but std.
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
    // `TFD_CLOEXEC` and `EFD_CLOEXEC` are defined as `O_CLOEXEC`, whose value is the same on all of
    // these architectures.
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
        /// An eventfd that becomes readable once the timer is broken.
        broken: File,
    }

    impl Timer {
        pub(super) fn new() -> io::Result<Timer> {
            // SAFETY: the call takes two integers.
            let timer = owned(unsafe { timerfd_create(CLOCK_MONOTONIC, O_CLOEXEC) })?;
            // SAFETY: the call takes two integers.
            let broken = owned(unsafe { eventfd(0, O_CLOEXEC) })?.into();
            Ok(Timer { timer, broken })
        }

        #[cfg(test)]
        pub(super) fn descriptor(&self) -> c_int {
            self.timer.as_raw_fd()
        }

        /// Sets the timer. Zero turns it off.
        pub(super) fn set(&self, left: Duration) -> io::Result<()> {
            let spec = |time: Duration| Timespec {
                seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
                nanoseconds: time.subsec_nanos().into(),
            };
            let setting = Setting { interval: spec(Duration::ZERO), left: spec(left) };
            let timer = self.timer.as_raw_fd();
            // SAFETY: `timer` is an open descriptor that we own, `setting` lives until the call
            // returns, and a null `old` is allowed: the previous setting is not returned.
            if unsafe { timerfd_settime(timer, 0, &setting, ptr::null_mut()) } < 0 {
                return Err(self.mark_broken());
            }
            Ok(())
        }

        /// Makes every wait fail. Returns the error that the kernel reported.
        #[cold]
        fn mark_broken(&self) -> io::Error {
            let error = io::Error::last_os_error();
            // This fails only if other code has closed that descriptor as well. Nothing more can be
            // done then.
            let _ = (&self.broken).write(&1_u64.to_ne_bytes());
            error
        }

        pub(super) fn wait(&self) -> io::Result<()> {
            let watch = |descriptor| Poll { descriptor, events: POLLIN, returned: 0 };
            let mut polls = [watch(self.timer.as_raw_fd()), watch(self.broken.as_raw_fd())];
            // Neither descriptor is read: setting the timer clears its expiration, and a broken
            // timer stays broken.
            // SAFETY: `polls` has two entries and lives until the call returns.
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

    /// Takes ownership of a descriptor that a call returned, unless the call failed.
    fn owned(descriptor: c_int) -> io::Result<OwnedFd> {
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call has just created the descriptor, so nothing else owns it.
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
    fn other_threads_can_advance_and_postpone_it() {
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
    fn a_cancelled_alarm_does_not_ring_even_if_it_was_ringing() {
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
    fn it_rings_until_it_is_cancelled() {
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

    /// Other code puts another file in place of the timer's descriptor, while a thread waits and
    /// afterwards.
    #[test]
    fn a_broken_alarm_ends_all_waits() {
        unsafe extern "C" {
            fn dup2(old: c_int, new: c_int) -> c_int;
        }
        let (alarm, other) = (Alarm::new().unwrap(), File::open("/dev/null").unwrap());
        alarm.set(LATE).unwrap();
        thread::scope(|scope| {
            let waits = scope.spawn(|| alarm.wait());
            thread::sleep(SOON);
            let descriptor = alarm.timer.descriptor();
            // SAFETY: the call takes two integers. The alarm owns the new file under the same
            // number as the old one.
            assert_eq!(unsafe { dup2(other.as_raw_fd(), descriptor) }, descriptor);
            alarm.set(LATE).unwrap_err();
            waits.join().unwrap().unwrap_err();
        });
        alarm.cancel().unwrap_err();
        alarm.wait().unwrap_err();
    }

    #[test]
    fn a_duration_beyond_the_range_of_the_clock_is_accepted() {
        let alarm = Alarm::new().unwrap();
        alarm.set(Duration::ZERO).unwrap();
        thread::sleep(SOON);
        // If the kernel refused this duration, the expired timer would stay expired.
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
