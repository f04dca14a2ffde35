//! Timers, in a build that has them.

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
    ArmedTimer, Clock, FireRate, NextWake, OwnerId, PreciseWaits, TICK_MAX_NS, TimerInbox, Timers,
};

pub(crate) use super::external::ShutDown;

/// What is common to all timers of a runtime.
pub(crate) struct TimeHandle {
    pub(crate) clock: Clock,
    is_enabled: bool,
    /// The runtime has shut down.
    is_shut_down: AtomicBool,
    external: ExternalTimers,
    driver: Arc<dyn WakeDriver>,
}

/// A worker's own timers. In its core.
pub(crate) struct WorkerTimers {
    id: OwnerId,
    /// A wheel takes some memory, and many a runtime needs none.
    pub(super) timers: Option<Timers>,
    /// How those have fired, its own and others', that the worker served.
    fire_rate: FireRate,
    /// When the worker last came from a wait, after which it serves its timers. Zero at first.
    woke_ns: u64,
}

/// Where others leave timers of a worker's that they want no more.
pub(crate) struct WorkerTimerInbox(pub(crate) TimerInbox);

/// Until when a worker may sleep.
pub(crate) struct Until<'a> {
    /// For its own timers.
    own: Option<NextWake>,
    /// For those too that others had lent, after so many `lends`.
    all: Option<NextWake>,
    lends: u64,
    /// In any case.
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

    pub(crate) fn is_shut_down(&self) -> bool {
        self.is_shut_down.load(Acquire)
    }

    /// Fires what is due, of the caller's own timers and of the common ones. Returns those of its own.
    ///
    /// `with_own` gives access to the former; wakers are called outside of it, by `call`.
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
            // They may have passed to somebody else meanwhile.
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

    /// A worker with these timers of its own comes from a wait, at `now`, and is about to serve them.
    #[inline]
    pub(crate) fn note_wait_end(&self, own: &mut WorkerTimers, now: Instant) {
        own.woke_ns = self.clock.deadline_ns(now);
    }

    /// Whether one of a worker's own timers is due `within` a while, or was.
    pub(crate) fn is_soon_due(&self, own: &WorkerTimers, within: Duration) -> bool {
        let next_ns = own.next_ns();
        let within_ns = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        next_ns.is_some_and(|next_ns| next_ns <= self.clock.now_ns().saturating_add(within_ns))
    }

    /// Whether one of the common timers is due.
    pub(crate) fn is_external_due(&self) -> bool {
        let next_ns = self.external.next_ns();
        next_ns.is_some_and(|next_ns| next_ns <= self.clock.now_ns())
    }

    /// Until when a worker with these timers of its own may sleep, if `lent_ns` says when the first of those that
    /// others have lent is due.
    pub(crate) fn until(
        &self,
        own: &WorkerTimers,
        lent_ns: impl FnOnce() -> Option<u64>,
    ) -> Until<'_> {
        let lends = self.external.lends();
        let (own_ns, lent_ns) = (own.next_ns(), lent_ns());
        let wake = |next_ns| own.fire_rate.next_wake(next_ns);
        let all = own_ns.into_iter().chain(lent_ns).min().map(wake);
        Until { own: own_ns.map(wake), all, lends, at_most: None, time: self }
    }

    /// When a paused clock that moves by itself will move to; none if there is no such clock or no timer.
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

    /// From now on nobody can wait for a timer. Goes before [`end`](Self::fire_all).
    pub(crate) fn begin_shutdown(&self) {
        self.is_shut_down.store(true, Release);
        self.external.close();
    }

    /// Fires all timers of a worker's, since there is nobody any more who could wait for them.
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

    /// Arms a timer for a thread that has none of its own.
    pub(crate) fn arm_external(
        &self,
        deadline_ns: u64,
        waker: Option<Waker>,
    ) -> Result<ArmedTimer, ShutDown> {
        self.external.arm(deadline_ns, waker)
    }

    /// Takes out a timer that is not the caller's own, if it is a common one; else gives it back.
    pub(crate) fn disarm_external(&self, timer: ArmedTimer) -> Result<Option<Waker>, ArmedTimer> {
        if timer.owner() == EXTERNAL { Ok(self.external.disarm(timer)) } else { Err(timer) }
    }
}

impl WorkerTimers {
    /// Those of the worker with this index.
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

    /// The worker has fired timers, these or others'.
    pub(crate) fn note(&mut self, fired: Fired) {
        if fired.count > 0 {
            self.fire_rate.note(fired.now_ns, fired.count);
        }
    }

    pub(super) fn next_ns(&self) -> Option<u64> {
        self.timers.as_ref().and_then(Timers::next_ns)
    }

    /// Up to when the timers were served, at least.
    pub(crate) fn served_ns(&self) -> u64 {
        // The position stands still while there are no timers.
        self.woke_ns.max(self.timers.as_ref().map_or(0, Timers::position_ns))
    }

    /// The timers, if `timer` is one of them.
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
    /// As it is, but no longer than that.
    pub(crate) fn at_most(&self, at_most: Duration) -> Self {
        Until { at_most: Some(at_most), ..*self }
    }

    fn is_timed(&self) -> bool {
        self.all.is_some() || !self.time.external.is_empty()
    }

    /// Waits in the driver, on behalf of the common timers too.
    pub(crate) fn in_driver(&self, driver: &mut dyn Driver, call: CallWaker<'_>) {
        let TimeHandle { external, clock, .. } = self.time;
        if !self.time.is_enabled {
            return driver.wait(self.at_most, call);
        }
        let NextWake { at_ns, tick_ns } = external.begin_wait(self.all, self.lends);
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

    /// Whether someone who does not wait in the driver should have his timers served by him who does.
    pub(crate) fn should_lend(&self) -> bool {
        let TimeHandle { external, clock, .. } = self.time;
        self.own.is_some_and(|own| external.can_share_tick(own, clock.now_ns()))
    }

    /// They are lent: has him who waits in the driver wake up for them.
    pub(crate) fn notify_driver(&self) {
        if let Some(own) = self.own {
            self.time.external.note_lend(own.at_ns.saturating_add(TICK_MAX_NS));
        }
    }

    /// How long someone who does not wait in the driver may sleep.
    pub(crate) fn on_thread(&self) -> Option<Duration> {
        self.shorter(self.own.and_then(|own| self.time.clock.time_until(own.at_ns)))
    }

    fn shorter(&self, timeout: Option<Duration>) -> Option<Duration> {
        timeout.into_iter().chain(self.at_most).min()
    }
}

/// A thread's waits, which end in time from the first that has a timeout on. Leaves the thread as it was.
pub(crate) struct PreciseThread(OnceCell<PreciseWaits>);

impl PreciseThread {
    pub(crate) fn new() -> PreciseThread {
        PreciseThread(OnceCell::new())
    }

    /// The thread is about to wait.
    pub(crate) fn before_wait(&self, until: &Until<'_>) {
        if until.is_timed() {
            self.0.get_or_init(PreciseWaits::begin);
        }
    }
}

/// Keeps a paused clock from moving by itself while a blocking task runs.
pub(crate) struct ClockHold(Option<Arc<TimeHandle>>);

impl ClockHold {
    /// Only a clock that can be paused needs to be held.
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
                // Who idles may move the clock now.
                time.driver.wake();
            }
        }
    }
}
