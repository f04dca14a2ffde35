//! Maintenance: what a worker does every so many polls, and in part before it parks.
//!
//! It looks at the driver, fires timers, calls external and deferred wakers, queues the tasks that
//! yielded, and frees the tasks that ended on other workers.

use super::MultiThread;
use super::worker::WorkerCore;
use super::worker_thread::WorkerThread;
use crate::timers::WorkerTimers;
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::CallWaker;
use wakeful_base::sync::atomic::Ordering::Relaxed;

/// The shortest time between two looks at the driver, each of which is a system call. It bounds how
/// long an event waits while polls are short, and saves tasks that yield a system call each time.
/// Loom models look each time, because all their runs have to be the same.
pub(super) const DRIVER_LOOK_INTERVAL: Duration =
    Duration::from_micros(if cfg!(wakeful_loom) { 0 } else { 10 });

impl WorkerThread {
    /// Runs maintenance, as the module's documentation lists it. Skips the look at the driver if
    /// the last one was a moment ago. Returns when it began.
    pub(super) fn run_maintenance(&self) -> Instant {
        let Some(mut core) = self.enter() else { return Instant::now() };
        let now = core.just_woke.take().unwrap_or_else(Instant::now);
        let looks = now >= core.next_look;
        if looks {
            core.next_look = now + DRIVER_LOOK_INTERVAL;
        }
        drop(core);
        self.measure_polls(now);
        if looks {
            self.look_at_driver();
            self.serve_timers();
        }
        self.call_external_wakers();
        self.wake_deferred();
        self.clear_ended();
        if self.worker().walk.is_requested() {
            self.walk_tasks();
        }
        now
    }

    /// Handles the events that are there, unless a worker waits in the driver for them.
    pub(super) fn look_at_driver(&self) {
        let events = &mut *self.look_events.borrow_mut();
        self.scheduler.info.io.look(events, &mut |waker| self.wake(waker));
    }

    /// Queues the tasks that yielded, and calls the deferred wakers.
    pub(super) fn wake_deferred(&self) {
        let Some(mut core) = self.enter() else { return };
        let WorkerCore { yielded, queue, .. } = &mut *core;
        self.worker().metrics.local_schedules.add(yielded.len() as u64);
        if !yielded.is_empty() {
            queue.push_all(&self.worker().queue, yielded);
            core.owes_notify |= self.scheduler.idle.set_queued(self.index);
        }
        drop(core);
        self.call_each(|core| &mut core.deferred);
    }

    /// Fires the timers that are due: the worker's own, external ones, and those of vacant workers.
    /// Returns whether any of the worker's own were due.
    pub(super) fn serve_timers(&self) -> bool {
        let call = &mut |waker: Waker| self.wake(waker);
        let with_own = |f: &mut dyn FnMut(&mut WorkerTimers)| {
            if let Some(mut core) = self.enter() {
                f(&mut core.timers);
            }
        };
        let fired = self.scheduler.info.time.serve(&self.worker().left_timers, with_own, call);
        if fired.count > 0 {
            if let Some(mut core) = self.enter() {
                core.timers.note(fired);
            }
        }
        if self.scheduler.vacant.load(Relaxed) > 0 {
            self.scheduler.serve_vacant_timers(call);
        }
        fired.count > 0
    }

    /// Takes the time of the polls since the last time. Called between two polls.
    pub(super) fn measure_polls(&self, now: Instant) {
        if let Some(mut core) = self.enter() {
            let metrics = &self.worker().metrics;
            if let Some(mean_ns) = core.poll_stats.measure(metrics.polls.get(), now) {
                metrics.note_mean_poll(mean_ns);
            }
            // Otherwise the first of two tasks that the next poll spawns could go to the slot, and
            // stay there: the second would find the slot disabled, and not displace it.
            core.lifo_enabled = self.uses_lifo_slot(&core);
        }
    }

    /// The worker has slept, or got its lease, up to `now`.
    pub(super) fn begin_busy(&self, core: &mut WorkerCore, now: Instant) {
        let worker = self.worker();
        worker.wake_stamp.record(worker.progress(), now);
        self.scheduler.info.time.note_wait_end(&mut core.timers, now);
        core.poll_stats.restart(worker.metrics.polls.get(), now);
    }

    /// The worker was not busy up to `now`: that is no time of its polls.
    pub(super) fn end_pause(&self, now: Instant) {
        if let Some(mut core) = self.enter() {
            core.poll_stats.restart(self.worker().metrics.polls.get(), now);
        }
    }

    /// Takes tasks that ended on other threads out of this worker's list, and frees them.
    #[inline]
    pub(super) fn clear_ended(&self) {
        if self.worker().has_ended() {
            self.take_out_ended();
        }
    }

    #[cold]
    fn take_out_ended(&self) {
        let worker = self.worker();
        let ended = self.enter().map(|mut core| worker.take_ended(&mut core));
        // Outside the core section, because this frees the tasks' memory.
        drop(ended);
    }
}

impl MultiThread {
    /// Fires the timers of vacant workers: those released in `block_in_place` that no thread has
    /// acquired yet. The operating system may have no thread left for them.
    #[cold]
    fn serve_vacant_timers(&self, call: CallWaker<'_>) {
        for worker in &self.workers {
            let with_own = |f: &mut dyn FnMut(&mut WorkerTimers)| {
                worker.with_vacant_core(|core| f(&mut core.timers));
            };
            self.info.time.serve(&worker.left_timers, with_own, call);
        }
    }
}
