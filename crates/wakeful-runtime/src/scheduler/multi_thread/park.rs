//! How a worker parks, and what it does when it is unparked.
//!
//! A worker registers as parked ([`Idle`](super::idle)), checks all queues once more, and only then
//! parks, in the driver or on its thread ([`ParkState`](super::park_state)). So a wake-up that
//! comes meanwhile is not lost.

use super::maintenance::DRIVER_LOOK_INTERVAL;
use super::park_state::ParkOutcome;
use super::worker_thread::WorkerThread;
use crate::config::{self, Callback};
use crate::timers::Until;
use std::mem::take;
use std::task::Waker;
use std::time::Instant;
use wakeful_base::sync::thread;

impl WorkerThread {
    /// Parks until there is something to do: in the driver if that is free, else on the thread.
    pub(super) fn park(&self) {
        self.clear_ended();
        self.serve_timers();
        self.call_external_wakers();
        self.call_hook(&self.scheduler.config.before_park);
        self.prepare_thread_name();
        if self.park_if_idle() {
            self.call_hook(&self.scheduler.config.after_unpark);
        }
    }

    /// Parks, unless there is something to do by now. Returns false if the lease is revoked. No
    /// user code runs in here.
    pub(super) fn park_if_idle(&self) -> bool {
        let Some(mut core) = self.enter() else { return false };
        // A worker never parks with tasks in its own queue.
        if core.is_idle() && self.worker().queue.is_empty() {
            let searching = take(&mut core.searching);
            let until = self.scheduler.info.time.until(&core.timers);
            drop(core);
            self.park_unless_work(searching, &until);
        }
        true
    }

    fn call_hook(&self, hook: &Option<Callback>) {
        if hook.is_some() {
            self.run_callback(|| config::call(hook));
        }
    }

    /// Prepares the name of the next hand-off's thread, since the monitor must not call the user's
    /// function.
    fn prepare_thread_name(&self) {
        let pool = &self.scheduler.pool;
        if self.scheduler.stalls.config.hands_off && pool.needs_thread_name() {
            self.run_callback(|| pool.prepare_thread_name());
        }
    }

    /// Registers as parked, looks for tasks once more, and parks unless there are any.
    fn park_unless_work(&self, was_searching: bool, until: &Until<'_>) {
        let (scheduler, worker) = (&*self.scheduler, self.worker());
        scheduler.idle.clear_queued(self.index);
        let checks = scheduler.idle.begin_park(self.index, was_searching);
        let sees_injected = checks && !scheduler.inject.is_empty();
        let sees_work = sees_injected || (checks && scheduler.idle.is_any_queued());
        let mut was_in_driver = false;
        let mut now = None;
        if !sees_work && !scheduler.is_stopping() {
            scheduler.stalls.monitor.note_park(|| scheduler.are_all_parked());
            worker.metrics.note_park();
            self.precise.before_wait(until);
            let outcome = match self.is_watching.get() {
                true => self.wait_on_watch(until),
                false => self.wait(until),
            };
            was_in_driver = outcome.was_in_driver;
            worker.metrics.unparks.add(1);
            now = Some(Instant::now());
        } else if sees_injected {
            // The search before could not take it: another thread holds the queue's lock. It may
            // have been preempted.
            thread::yield_now();
        }
        let now = now.unwrap_or_else(Instant::now);
        let searching = scheduler.idle.end_park(self.index, sees_work);
        scheduler.stalls.monitor.note_unpark(now, || scheduler.is_only_one_awake());
        self.serve_timers();
        let mut core = self.enter().expect("the lease of a parked worker is not revoked");
        core.searching = searching;
        if was_in_driver {
            core.next_look = now + DRIVER_LOOK_INTERVAL;
        }
        self.begin_busy(&mut core, now);
        // Maintenance comes first: it looks at whatever ended the park, shutdown included, and
        // calls external wakers.
        core.until_maintenance = 0;
        core.just_woke = Some(now);
    }

    /// Waits in the driver or on the thread, until notified or until something is due.
    pub(super) fn wait(&self, until: &Until<'_>) -> ParkOutcome {
        let (driver, park_state) = (&self.scheduler.driver, &self.worker().park_state);
        let call = &mut |waker: Waker| self.wake(waker);
        park_state.park(Some(driver), until, call, || self.park_on_thread(until))
    }

    /// Parks on the thread until notified or until `until`.
    fn park_on_thread(&self, until: &Until<'_>) {
        match until.on_thread() {
            None => self.parker.park(),
            Some(timeout) => self.parker.park_timeout(timeout),
        }
    }
}
