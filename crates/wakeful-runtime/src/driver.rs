//! What idle workers wait in.
//!
//! A runtime has one driver, which no worker owns: the first worker to run out of work waits in it,
//! the others park on their own parkers. While no worker waits in it, busy workers look at it
//! during maintenance ([`IoHandle::look`]). A look takes no lock, so it keeps no worker from
//! waiting. With I/O enabled the driver is the reactor's (`driver/io_driver.rs`). Otherwise it is
//! the [`NullDriver`], whose waits end only by a wake-up or a timeout, and there is nothing to look
//! at.

#[cfg(feature = "driver")]
mod io_driver;
#[cfg(feature = "driver")]
pub(crate) use io_driver::{IoHandle, LookEvents, is_shutdown_error};

#[cfg(not(feature = "driver"))]
mod no_driver;
#[cfg(not(feature = "driver"))]
pub(crate) use no_driver::{IoHandle, LookEvents, is_shutdown_error};

use std::io;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::CallWaker;
use wakeful_base::sync::{Condvar, Mutex};

/// The place where an idle worker waits for events.
pub(crate) trait Driver: Send {
    /// Waits for events, for a call of [`WakeDriver::wake`], or for `timeout`.
    ///
    /// Passes the wakers of the operations that are ready to `call`. With a timeout of zero it only
    /// checks for events.
    fn wait(&mut self, timeout: Option<Duration>, call: CallWaker<'_>);

    /// Waits as [`wait`](Self::wait) does, until a tick that is likely to be followed by others.
    #[cfg_attr(not(feature = "time"), expect(dead_code, reason = "only timers have ticks"))]
    fn wait_for_tick(&mut self, tick: TimerTick, call: CallWaker<'_>) {
        self.wait(Some(Duration::from_nanos(tick.at_ns.saturating_sub(tick.now_ns))), call);
    }
}

/// A time, on the machine's clock, that is likely to be followed by waits for later ticks.
#[cfg_attr(not(feature = "time"), allow(dead_code, reason = "only timers have ticks"))]
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimerTick {
    pub(crate) now_ns: u64,
    /// Later than `now_ns`.
    pub(crate) at_ns: u64,
    /// The time from one tick to the next.
    pub(crate) period_ns: u64,
}

/// Ends a driver's wait, from any thread. If no thread is waiting, the next wait ends at once.
pub(crate) trait WakeDriver: Send + Sync {
    fn wake(&self);
}

/// The counters of a driver with I/O.
#[derive(Debug, Default)]
pub(crate) struct IoCounts {
    pub(crate) registered: u64,
    pub(crate) deregistered: u64,
    pub(crate) events: u64,
}

/// The limits on how many events are taken from the kernel at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EventsMax {
    /// For a worker that waits for them.
    pub(crate) waiting: usize,
    /// For a busy worker that checks the driver.
    pub(crate) busy: usize,
}

/// A driver, and its handles for the rest of the runtime.
pub(crate) struct DriverParts {
    pub(crate) driver: Box<dyn Driver>,
    pub(crate) waker: Arc<dyn WakeDriver>,
    pub(crate) io: IoHandle,
}

impl DriverParts {
    /// Makes the reactor's driver if `io` is given and the build has it, and a [`NullDriver`]
    /// otherwise.
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

/// A driver without events.
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

/// Makes a driver without events, and the handle that wakes it.
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
        // Notifying a condition variable is a system call even if no thread waits.
        if state.waiting {
            drop(state);
            self.arrived.notify_one();
        }
    }
}
