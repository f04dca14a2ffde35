//! How a worker parks, and what it does when it is unparked.
//!
//! A worker registers as parked ([`Idle`](super::idle)), checks all queues once more, and only then
//! parks, in the driver or on its thread ([`ParkState`](super::park_state)). So a wake-up that
//! comes meanwhile is not lost.

use super::park_state::ParkOutcome;
use super::worker_thread::WorkerThread;
use crate::config::{self, Callback};
use crate::timers::Until;
use std::mem::take;
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::sync::hint;

impl WorkerThread {
    /// Parks until there is something to do: in the driver if that is free, else on the thread.
    /// With `aside_for` the worker stays out of the driver, and parks for at most that long.
    pub(super) fn park(&self, aside_for: Option<Duration>) {
        self.clear_ended();
        let was_timer = self.serve_timers();
        self.call_external_wakers();
        self.call_hook(&self.scheduler.config.before_park);
        self.prepare_thread_name();
        if self.park_if_idle(aside_for, was_timer) {
            self.call_hook(&self.scheduler.config.after_unpark);
        }
    }

    /// Parks, unless there is something to do by now. Returns false if the lease is revoked. No
    /// user code runs in here.
    pub(super) fn park_if_idle(&self, aside_for: Option<Duration>, was_timer: bool) -> bool {
        let Some(mut core) = self.enter() else { return false };
        core.gathered.skip_search = was_timer;
        // The notify policy may leave a short queue alone, but a worker never parks with tasks in
        // its own queue.
        if core.is_idle() && self.worker().queue.is_empty() {
            let searching = take(&mut core.searching);
            let until =
                self.scheduler.info.time.until(&core.timers, || self.scheduler.lent_until());
            drop(core);
            self.park_unless_work(searching, aside_for, &until);
        }
        true
    }

    fn call_hook(&self, hook: &Option<Callback>) {
        if hook.is_some() {
            self.lease.run_callback(|| config::call(hook));
        }
    }

    /// Prepares the name of the next hand-off's thread, since the monitor must not call the user's
    /// function.
    fn prepare_thread_name(&self) {
        let pool = &self.scheduler.pool;
        if self.scheduler.stalls.config.hands_off && pool.needs_thread_name() {
            self.lease.run_callback(|| pool.prepare_thread_name());
        }
    }

    /// Registers as parked, checks all queues, and parks unless one of them has work.
    fn park_unless_work(
        &self,
        was_searching: bool,
        aside_for: Option<Duration>,
        until: &Until<'_>,
    ) {
        let (scheduler, worker) = (&*self.scheduler, self.worker());
        scheduler.idle.begin_park(self.index, was_searching);
        // The last worker to park must not stay out of the driver: no other worker would be in it.
        let aside_for = aside_for.filter(|_| !scheduler.idle.are_all_parked());
        let sees_work = match aside_for {
            Some(_) => scheduler.has_work_for_all(),
            None => scheduler.has_visible_work(),
        };
        let mut was_in_driver = false;
        if !sees_work && !scheduler.is_stopping() {
            scheduler.stalls.monitor.note_park(|| scheduler.are_all_parked());
            worker.metrics.parks.add(1);
            self.precise.before_wait(until);
            let outcome = match self.is_watching.get() {
                true => self.wait_on_watch(until),
                false => self.wait(aside_for, until),
            };
            was_in_driver = outcome.was_in_driver;
            worker.metrics.unparks.add(1);
        } else {
            // Another worker is probably taking this work: the search before did not find it.
            hint::spin_loop();
        }
        let now = Instant::now();
        let searching = scheduler.idle.end_park(self.index, sees_work);
        scheduler.stalls.monitor.note_unpark(now, || scheduler.is_only_one_awake());
        let was_timer = self.serve_timers();
        let mut core = self.enter().expect("the lease of a parked worker is not revoked");
        core.searching = searching;
        // Unparked by a timer, perhaps early: then no thread has queued work for this worker, and a
        // search would find nothing.
        let is_idle = core.is_idle() && worker.queue.is_empty();
        core.gathered.skip_search = !searching && (was_timer || is_idle);
        core.skip_look = was_in_driver || aside_for.is_some();
        self.measure_anew(&mut core, now);
        // Maintenance comes first: it looks at whatever ended the park, shutdown included, and
        // calls external wakers.
        core.until_maintenance = 0;
        core.just_woke = Some(now);
    }

    /// Waits in the driver or on the thread, until notified or until something is due.
    pub(super) fn wait(&self, aside_for: Option<Duration>, until: &Until<'_>) -> ParkOutcome {
        let (driver, park_state) = (&self.scheduler.driver, &self.worker().park_state);
        let call = &mut |waker: Waker| self.wake(waker);
        self.gather(|| {
            if let Some(aside_for) = aside_for {
                park_state.park(None, until, call, || self.sleep_aside(until, aside_for))
            } else {
                park_state.park(Some(driver), until, call, || self.park_on_thread(until))
            }
        })
    }
}
