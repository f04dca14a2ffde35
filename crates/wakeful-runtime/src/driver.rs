//! What an idle worker waits in.
//!
//! A runtime has one driver, and nobody owns it: whichever worker idles first waits in it, the others
//! sleep on their own parkers, and a busy worker looks in now and then. With I/O enabled it is the
//! reactor's; without, there is nothing to wait for but a wake-up.

#[cfg(feature = "driver")]
mod io_driver;
#[cfg(feature = "driver")]
pub(crate) use io_driver::{IoHandle, is_shutdown_error};

#[cfg(not(feature = "driver"))]
mod no_driver;
#[cfg(not(feature = "driver"))]
pub(crate) use no_driver::{IoHandle, is_shutdown_error};

use std::io;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::CallWaker;
use wakeful_base::sync::{Condvar, Mutex};

/// Waits for the outside world.
pub(crate) trait Driver: Send {
    /// Waits until something has happened, [`WakeDriver::wake`] is called, or `timeout` has passed, and
    /// has the wakers of those who waited for what happened called by `call`. With a timeout of zero it only looks.
    fn wait(&mut self, timeout: Option<Duration>, call: CallWaker<'_>);

    /// As [`wait`](Self::wait), until a beat that others are likely to follow.
    #[cfg_attr(not(feature = "time"), expect(dead_code, reason = "only timers have ticks"))]
    fn wait_for_tick(&mut self, tick: TimerTick, call: CallWaker<'_>) {
        self.wait(Some(Duration::from_nanos(tick.at_ns.saturating_sub(tick.now_ns))), call);
    }
}

/// A time that is likely to be waited for again and again, on the machine's clock.
#[cfg_attr(not(feature = "time"), allow(dead_code, reason = "only timers have ticks"))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimerTick {
    pub(crate) now_ns: u64,
    /// Later than `now_ns`.
    pub(crate) at_ns: u64,
    /// From one beat to the next.
    pub(crate) period_ns: u64,
}

/// Ends a driver's wait from any thread. A call that finds nobody waiting ends the next wait.
pub(crate) trait WakeDriver: Send + Sync {
    fn wake(&self);
}

/// How many events are taken from the kernel at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventsMax {
    /// By a worker that waits for them.
    pub(crate) waiting: usize,
    /// By a busy worker that looks in.
    pub(crate) busy: usize,
}

/// A driver, and what the rest of a runtime has of it.
pub(crate) struct DriverParts {
    pub(crate) driver: Box<dyn Driver>,
    pub(crate) waker: Arc<dyn WakeDriver>,
    pub(crate) io: IoHandle,
}

impl DriverParts {
    /// A driver with I/O if that is asked for, and possible in this build.
    pub(crate) fn new(io: Option<EventsMax>) -> io::Result<DriverParts> {
        if let Some(events) = io {
            if let Some(parts) = IoHandle::enabled(events)? {
                return Ok(parts);
            }
        }
        let (driver, waker) = null_driver();
        Ok(DriverParts { driver: Box::new(driver), waker, io: IoHandle::disabled() })
    }
}

/// A driver of nothing: its waits end by wake-ups only.
pub(crate) struct NullDriver(Arc<WakeToken>);

struct WakeToken {
    state: Mutex<WakeTokenState>,
    arrived: Condvar,
}

#[derive(Default)]
struct WakeTokenState {
    pending: bool,
    waiting: bool,
}

/// A driver of nothing, and the handle that wakes it.
pub(crate) fn null_driver() -> (NullDriver, Arc<dyn WakeDriver>) {
    let token = Arc::new(WakeToken { state: Mutex::default(), arrived: Condvar::new() });
    (NullDriver(token.clone()), token)
}

impl Driver for NullDriver {
    fn wait(&mut self, timeout: Option<Duration>, _: CallWaker<'_>) {
        let mut state = self.0.state.lock();
        state.waiting = true;
        match timeout {
            Some(timeout) if !state.pending && !timeout.is_zero() => {
                state = self.0.arrived.wait_timeout(state, timeout).0;
            }
            Some(_) => {}
            None => {
                while !state.pending {
                    state = self.0.arrived.wait(state);
                }
            }
        }
        *state = WakeTokenState::default();
    }
}

impl WakeDriver for WakeToken {
    fn wake(&self) {
        let mut state = self.state.lock();
        state.pending = true;
        // Notifying is a system call even where nobody waits.
        if state.waiting {
            drop(state);
            self.arrived.notify_one();
        }
    }
}
