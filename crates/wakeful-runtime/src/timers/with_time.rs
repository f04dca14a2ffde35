//! The timers of a runtime, in a build with the `time` feature.

use super::external::{EXTERNAL, ExternalTimers};
use super::{Fired, TimeConfig};
use crate::driver::{Driver, TimerTick, WakeDriver};
use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::{CallWaker, WakeList};
use wakeful_reactor::time::{
    ArmedTimer, Clock, FireRate, NextWake, OwnerId, PreciseWaits, TimerInbox, Timers,
};

pub(crate) use super::external::ShutDown;

/// A runtime's clock, and what the timers of its workers share.
pub(crate) struct TimeHandle {
    pub(crate) clock: Clock,
    is_enabled: bool,
    /// Whether the runtime has shut down.
    is_shut_down: AtomicBool,
    external: ExternalTimers,
    driver: Arc<dyn WakeDriver>,
}

/// A worker's own timers; part of its core.
pub(crate) struct WorkerTimers {
    id: OwnerId,
    /// Allocated on first use: a wheel takes some memory, and many runtimes need none.
    timers: Option<Timers>,
    /// The rate at which the worker has fired timers.
    fire_rate: FireRate,
    /// When the worker last returned from a wait, after which it serves its timers. Zero at first.
    woke_ns: u64,
}

/// A worker's timers that other threads no longer need, left there for the worker to remove.
pub(crate) struct WorkerTimerInbox(pub(crate) TimerInbox);

/// How long a worker may park.
pub(crate) struct Until<'a> {
    /// The next wake-up for its own timers.
    own: Option<NextWake>,
    /// An upper limit, whatever timers there are.
    at_most: Option<Duration>,
    time: &'a TimeHandle,
}

impl TimeHandle {
    pub(crate) fn new(config: TimeConfig, driver: Arc<dyn WakeDriver>) -> Arc<TimeHandle> {
        let clock = match config.start_paused {
            true => Clock::new_paused(),
            false => Clock::new(config.can_pause),
        };
        Arc::new(TimeHandle {
            clock,
            is_enabled: config.is_enabled,
            is_shut_down: AtomicBool::new(false),
            external: ExternalTimers::new(driver.clone()),
            driver,
        })
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Returns the current time of the runtime's clock.
    pub(crate) fn now_us(&self) -> Option<u64> {
        Some(self.clock.now_ns() / 1_000)
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Acquire)
    }

    /// Fires due timers, both the caller's own and the external ones. Returns the caller's own.
    ///
    /// `with_own` gives access to the caller's own timers; `call` calls the wakers, outside
    /// `with_own`.
    pub(crate) fn serve(
        &self,
        inbox: &WorkerTimerInbox,
        mut with_own: impl FnMut(&mut dyn FnMut(&mut WorkerTimers)),
        call: CallWaker<'_>,
    ) -> Fired {
        if !self.is_enabled {
            return Fired::default();
        }
        let mut has_own = false;
        with_own(&mut |own| {
            let Some(timers) = &mut own.timers else { return };
            timers.clear_left(&inbox.0);
            has_own = !timers.is_empty();
        });
        if !has_own && self.external.is_empty() {
            return Fired::default();
        }
        let now_ns = self.clock.now_ns();
        let mut count = 0;
        while has_own {
            let mut wakers = WakeList::new();
            // Nothing is fired if the worker was handed off meanwhile: the wakers are user code.
            has_own = false;
            with_own(&mut |own| {
                has_own = own.timers.as_mut().is_some_and(|own| own.fire(now_ns, &mut wakers));
            });
            count += wakers.len();
            wakers.take_all(&mut *call);
        }
        self.external.fire(now_ns, call);
        Fired { count, now_ns }
    }

    /// Moves the wakers of a worker's due timers to `wakers`, as many as fit.
    pub(crate) fn fire_some(
        &self,
        inbox: &WorkerTimerInbox,
        own: &mut WorkerTimers,
        wakers: &mut WakeList,
    ) {
        if let Some(timers) = &mut own.timers {
            timers.clear_left(&inbox.0);
            timers.fire(self.clock.now_ns(), wakers);
        }
    }

    /// Notes that a worker with these timers has returned from a wait at `now`, and is about to
    /// serve them.
    #[inline]
    pub(crate) fn note_wait_end(&self, own: &mut WorkerTimers, now: Instant) {
        own.woke_ns = self.clock.deadline_ns(now);
    }

    /// Returns whether one of a worker's own timers is due already, or will be `within` this time.
    pub(crate) fn is_soon_due(&self, own: &WorkerTimers, within: Duration) -> bool {
        let next_ns = own.next_ns();
        let within_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        next_ns.is_some_and(|next_ns| next_ns <= self.clock.now_ns().saturating_add(within_ns))
    }

    /// Returns whether an external timer is due.
    pub(crate) fn is_external_due(&self) -> bool {
        let next_ns = self.external.next_ns();
        next_ns.is_some_and(|next_ns| next_ns <= self.clock.now_ns())
    }

    /// Returns how long a worker with these timers may park.
    pub(crate) fn until(&self, own: &WorkerTimers) -> Until<'_> {
        let wake = own.next_ns().map(|next_ns| own.fire_rate.next_wake(next_ns));
        Until { own: wake, at_most: None, time: self }
    }

    /// Returns the time to which an idle runtime moves its paused clock. `None` if the clock is not
    /// paused or does not move by itself, or if there is no timer.
    pub(crate) fn next_skip(&self, own: &WorkerTimers) -> Option<u64> {
        if !self.is_enabled || !self.clock.moves_by_itself() {
            return None;
        }
        let own_ns = own.next_ns();
        own_ns.into_iter().chain(self.external.next_ns()).min()
    }

    /// Moves a paused clock to `next_ns`.
    pub(crate) fn skip_to(&self, next_ns: u64) {
        self.clock.skip_to(next_ns);
    }

    /// Begins the shutdown: no timer can be armed from now on. Called before
    /// [`fire_all`](Self::fire_all).
    pub(crate) fn begin_shutdown(&self) {
        self.is_shut_down.store(true, Release);
        self.external.close();
    }

    /// Fires all timers of a worker, at shutdown: no task is left to wait for them.
    pub(crate) fn fire_all(
        &self,
        inbox: &WorkerTimerInbox,
        mut with_own: impl FnMut(&mut dyn FnMut(&mut WorkerTimers)),
    ) {
        let mut has_more = true;
        while has_more {
            let mut wakers = WakeList::new();
            with_own(&mut |own| {
                has_more = own.timers.as_mut().is_some_and(|timers| {
                    timers.clear_left(&inbox.0);
                    timers.fire_all(&mut wakers)
                });
            });
            contain_panic(|| wakers.wake_all());
        }
    }

    /// Arms a timer for a thread that runs no worker.
    pub(crate) fn arm_external(
        &self,
        deadline_ns: u64,
        waker: Option<Waker>,
    ) -> Result<ArmedTimer, ShutDown> {
        self.external.arm(deadline_ns, waker)
    }

    /// Arms an external timer for another deadline. Returns false, and changes nothing, if `timer`
    /// is not an external one, or if the runtime has shut down.
    pub(crate) fn rearm_external(&self, timer: &mut ArmedTimer, deadline_ns: u64) -> bool {
        timer.owner() == EXTERNAL && self.external.rearm(timer, deadline_ns)
    }

    /// Removes an external timer. Returns `timer` as the error if it is not an external one.
    pub(crate) fn disarm_external(&self, timer: ArmedTimer) -> Result<Option<Waker>, ArmedTimer> {
        if timer.owner() == EXTERNAL { Ok(self.external.disarm(timer)) } else { Err(timer) }
    }
}

impl WorkerTimers {
    /// Makes the timers of the worker with this index.
    pub(crate) fn new(index: usize) -> WorkerTimers {
        WorkerTimers {
            id: OwnerId(index as u32),
            timers: None,
            fire_rate: FireRate::default(),
            woke_ns: 0,
        }
    }

    pub(crate) fn get(&mut self) -> &mut Timers {
        self.timers.get_or_insert_with(|| Timers::new(self.id))
    }

    /// Notes that the worker has fired timers.
    pub(crate) fn note(&mut self, fired: Fired) {
        if fired.count > 0 {
            self.fire_rate.note(fired.now_ns, fired.count);
        }
    }

    pub(super) fn next_ns(&self) -> Option<u64> {
        self.timers.as_ref().and_then(Timers::next_ns)
    }

    /// Returns a time up to which the timers were served, at least.
    pub(crate) fn served_ns(&self) -> u64 {
        // The wheel's position does not advance while it is empty.
        self.woke_ns.max(self.timers.as_ref().map_or(0, Timers::position_ns))
    }

    /// Returns the timers if `timer` is one of them.
    pub(crate) fn of(&mut self, timer: &ArmedTimer) -> Option<&mut Timers> {
        self.timers.as_mut().filter(|timers| timers.id() == timer.owner())
    }
}

impl WorkerTimerInbox {
    pub(crate) fn new() -> WorkerTimerInbox {
        WorkerTimerInbox(TimerInbox::new())
    }
}

impl Until<'_> {
    /// Limits the time to `at_most`.
    pub(crate) fn at_most(&self, at_most: Duration) -> Self {
        Until { at_most: Some(at_most), ..*self }
    }

    fn is_timed(&self) -> bool {
        self.own.is_some() || !self.time.external.is_empty()
    }

    /// Waits in the driver, for the external timers too.
    pub(crate) fn in_driver(&self, driver: &mut dyn Driver, call: CallWaker<'_>) {
        let TimeHandle { external, clock, .. } = self.time;
        if !self.time.is_enabled {
            return driver.wait(self.at_most, call);
        }
        let NextWake { at_ns, tick_ns } = external.begin_wait(self.own);
        let tick = tick_ns.filter(|_| !clock.is_changed()).map(|period_ns| {
            let now_ns = clock.now_ns();
            TimerTick { now_ns, at_ns, period_ns }
        });
        match tick.filter(|tick| tick.at_ns > tick.now_ns) {
            Some(tick) => driver.wait_for_tick(tick, call),
            None => driver.wait(self.shorter(clock.time_until(at_ns)), call),
        }
        external.end_wait();
    }

    /// Returns how long a worker outside the driver may park.
    pub(crate) fn on_thread(&self) -> Option<Duration> {
        self.shorter(self.own.and_then(|own| self.time.clock.time_until(own.at_ns)))
    }

    fn shorter(&self, timeout: Option<Duration>) -> Option<Duration> {
        timeout.into_iter().chain(self.at_most).min()
    }
}

/// A guard that makes a thread's timeouts precise, from the first wait that has one until the drop.
pub(crate) struct PreciseThread(OnceCell<PreciseWaits>);

impl PreciseThread {
    pub(crate) fn new() -> PreciseThread {
        PreciseThread(OnceCell::new())
    }

    /// Makes the thread's timeouts precise if the next wait may have one. Called before each wait.
    pub(crate) fn before_wait(&self, until: &Until<'_>) {
        if until.is_timed() {
            self.0.get_or_init(PreciseWaits::begin);
        }
    }
}

/// Keeps a paused clock from moving by itself while a blocking task runs.
pub(crate) struct ClockHold(Option<Arc<TimeHandle>>);

impl ClockHold {
    /// Holds the runtime's clock, if it is one that can be paused.
    pub(crate) fn new(time: &Arc<TimeHandle>) -> ClockHold {
        let held = time.clock.can_pause().then(|| time.clone());
        if let Some(time) = &held {
            time.clock.hold();
        }
        ClockHold(held)
    }
}

impl Drop for ClockHold {
    fn drop(&mut self) {
        if let Some(time) = &self.0 {
            time.clock.release();
            if time.clock.moves_by_itself() {
                // The runtime may be idle in its driver. It has to be woken to move its clock.
                time.driver.wake();
            }
        }
    }
}
