//! Timers that end waits on ticks.

use super::epoll::{Poller, owned};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// Two kernel timers that end a driver's waits. Each is armed while the other is still pending.
///
/// Arming the earliest timer of a CPU programs the hardware, which on a virtual machine is a call
/// to the host. If no later timer is armed yet, the interrupt handler of the previous one also
/// reprograms it. With the next tick armed ahead, it is programmed only once per tick; see
/// bench/NOTES.md: tick timers.
///
/// A tick that comes while no thread waits is kept as an event and ends the next wait once. That is
/// intended: the timers that it was armed for are still to be served.
#[derive(Debug)]
pub struct TickTimers {
    timers: [OwnedFd; 2],
    /// The ticks that the timers were last armed for.
    armed_ns: [u64; 2],
}

impl TickTimers {
    pub(crate) fn new(poller: &Poller) -> io::Result<TickTimers> {
        let timer = || {
            let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
            // SAFETY: the call takes integers only, and returns a new descriptor or an error.
            let timer = unsafe { owned(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags)) }?;
            poller.add_wake_source(timer.as_raw_fd())?;
            Ok::<_, io::Error>(timer)
        };
        Ok(TickTimers { timers: [timer()?, timer()?], armed_ns: [0; 2] })
    }

    /// Makes waits end at the ticks `next_ns` and `after_ns`, which are in the future.
    ///
    /// `now_ns` is the current time, or a moment ago. All times are on one clock that runs at the
    /// machine's speed, and no two ticks have the same time. After an error, nothing is certain to
    /// end the wait.
    pub fn arm(&mut self, now_ns: u64, next_ns: u64, after_ns: u64) -> io::Result<()> {
        let ticks_ns = [next_ns, after_ns];
        for tick_ns in ticks_ns {
            if self.armed_ns.contains(&tick_ns) {
                continue;
            }
            let is_free = |armed_ns: &u64| !ticks_ns.contains(armed_ns);
            let free = self.armed_ns.iter().position(is_free).expect("two timers for two ticks");
            set(&self.timers[free], tick_ns.saturating_sub(now_ns).max(1))?;
            self.armed_ns[free] = tick_ns;
        }
        Ok(())
    }
}

fn set(timer: &OwnedFd, left_ns: u64) -> io::Result<()> {
    let left = libc::timespec {
        tv_sec: (left_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (left_ns % 1_000_000_000) as _,
    };
    let once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    let spec = libc::itimerspec { it_interval: once, it_value: left };
    // SAFETY: `spec` lives until the call returns, and a null pointer is allowed: the old setting
    // is not returned.
    let result =
        unsafe { libc::timerfd_settime(timer.as_raw_fd(), 0, &spec, std::ptr::null_mut()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::super::epoll::Events;
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn each_tick_ends_one_wait_and_is_armed_during_the_one_before() {
        const TICK_NS: u64 = 2_000_000;
        let poller = Poller::new().unwrap();
        let (mut ticks, mut events) = (TickTimers::new(&poller).unwrap(), Events::with_capacity(4));
        let started = Instant::now();
        let now_ns = || started.elapsed().as_nanos() as u64;
        for _ in 0..20 {
            let next_ns = (now_ns() + 1).next_multiple_of(TICK_NS);
            ticks.arm(now_ns(), next_ns, next_ns + TICK_NS).unwrap();
            let armed_ns = ticks.armed_ns;
            ticks.arm(now_ns(), next_ns, next_ns + TICK_NS).unwrap();
            assert_eq!(ticks.armed_ns, armed_ns, "what is armed stays as it is");
            poller.wait(&mut events, None).unwrap();
            assert!(now_ns() >= next_ns, "early");
            assert_eq!(events.iter().count(), 0, "a tick is not reported as an event");
        }
        // The last tick that was armed comes, if it has not yet.
        for _ in 0..2 {
            poller.wait(&mut events, Some(Duration::from_nanos(2 * TICK_NS))).unwrap();
        }
        assert!(!poller.has_events());
    }
}
