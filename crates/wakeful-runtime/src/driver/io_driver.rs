//! The driver of a runtime with I/O: the reactor's.

use super::{Driver, DriverParts, EventsMax, IoCounts, TimerTick, WakeDriver};
use std::io;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::CallWaker;
use wakeful_reactor::io::{IoDriver, IoEvents, TickTimers};

pub(crate) use wakeful_reactor::io::is_shutdown_error;

/// A runtime's I/O, if it is enabled.
#[derive(Clone)]
pub(crate) struct IoHandle {
    driver: Option<Arc<IoDriver>>,
    /// The limit on the events of a look.
    busy_events_max: usize,
}

/// A thread's buffer for the events of a look, allocated by the first.
#[derive(Default)]
pub(crate) struct LookEvents(Option<IoEvents>);

impl IoHandle {
    pub(super) fn enabled(max: EventsMax) -> io::Result<Option<DriverParts>> {
        let driver = IoDriver::new()?;
        if cfg!(feature = "signal") {
            driver.attend_to_signals().map_err(|error| {
                let text =
                    format!("cannot make the I/O driver: it cannot watch for signals: {error}");
                io::Error::new(error.kind(), text)
            })?;
        }
        let events = IoEvents::with_capacity(max.waiting);
        let busy_events = IoEvents::with_capacity(max.busy);
        Ok(Some(DriverParts {
            driver: Box::new(ReactorDriver {
                io: driver.clone(),
                events,
                busy_events,
                ticks: None,
            }),
            waker: Arc::new(ReactorWaker(driver.clone())),
            io: IoHandle { driver: Some(driver), busy_events_max: max.busy },
        }))
    }

    pub(super) fn disabled() -> IoHandle {
        IoHandle { driver: None, busy_events_max: 0 }
    }

    /// Returns the driver to register descriptors with.
    pub(crate) fn get(&self) -> Option<&Arc<IoDriver>> {
        self.driver.as_ref()
    }

    /// Returns the driver's counters: zeros without I/O.
    pub(crate) fn counts(&self) -> IoCounts {
        let Some(driver) = &self.driver else { return IoCounts::default() };
        let metrics = driver.metrics();
        IoCounts {
            registered: metrics.registered(),
            deregistered: metrics.deregistered(),
            events: metrics.events(),
        }
    }

    /// Takes the driver's events without waiting for more, and passes the wakers of the operations
    /// that are ready to `call`. Keeps no thread from waiting in the driver meanwhile. Does nothing
    /// while a thread waits in the driver, because that thread takes the events.
    pub(crate) fn look(&self, events: &mut LookEvents, call: CallWaker<'_>) {
        if let Some(io) = &self.driver {
            let make = || IoEvents::with_capacity(self.busy_events_max);
            io.look(events.0.get_or_insert_with(make), call);
        }
    }

    /// Returns whether the kernel has events that no thread has taken yet.
    pub(crate) fn has_events(&self) -> bool {
        self.driver.as_ref().is_some_and(|io| io.has_events())
    }

    /// Shuts the I/O down: all operations on this runtime's descriptors fail from now on.
    pub(crate) fn shut_down(&self) {
        if let Some(io) = &self.driver {
            io.shut_down();
        }
    }
}

struct ReactorDriver {
    io: Arc<IoDriver>,
    events: IoEvents,
    /// For waits with a timeout of zero.
    busy_events: IoEvents,
    ticks: Option<TickTimers>,
}

impl ReactorDriver {
    /// Returns the kernel timers for ticks, made on first use: few runtimes need them.
    fn ticks(&mut self) -> io::Result<&mut TickTimers> {
        if self.ticks.is_none() {
            self.ticks = Some(self.io.new_tick_timers()?);
        }
        Ok(self.ticks.as_mut().expect("just set"))
    }
}

impl Driver for ReactorDriver {
    fn wait(&mut self, timeout: Option<Duration>, call: CallWaker<'_>) {
        let is_poll_only = timeout == Some(Duration::ZERO);
        let events = if is_poll_only { &mut self.busy_events } else { &mut self.events };
        self.io.wait(events, timeout, call);
    }

    fn wait_for_tick(&mut self, tick: TimerTick, call: CallWaker<'_>) {
        let TimerTick { now_ns, at_ns, period_ns } = tick;
        let left = Duration::from_nanos(at_ns.saturating_sub(now_ns));
        if self.io.is_broken() {
            return self.wait(Some(left), call);
        }
        match self.ticks().and_then(|ticks| ticks.arm(now_ns, at_ns, at_ns + period_ns)) {
            Ok(()) => self.wait(None, call),
            // The kernel timers could not be made or set: the process may be out of descriptors.
            Err(_) => self.wait(Some(left), call),
        }
    }
}

struct ReactorWaker(Arc<IoDriver>);

impl WakeDriver for ReactorWaker {
    fn wake(&self) {
        self.0.wake();
    }
}
