//! The search for work: in the injection queue, in the run queues of other workers, in the driver.

use super::worker::{Worker, WorkerCore};
use super::worker_thread::WorkerThread;
use std::mem::take;
use std::time::{Duration, Instant};
use wakeful_base::sync::hint;
use wakeful_task::Runnable;

impl WorkerThread {
    /// Takes half of the injection queue, as a thief takes half of a run queue, but no more than
    /// the worker runs until its next look at the injection queue. Returns one entry to run, and
    /// puts the others into the worker's run queue.
    pub(super) fn take_injected(&self, core: &mut WorkerCore) -> Option<Runnable> {
        let inject = &self.scheduler.inject;
        if inject.is_empty() {
            return None;
        }
        let batch_max = core.poll_stats.inject_interval() as usize;
        let share = |len: usize| (len / 2 + 1).min(batch_max);
        let mut first = None;
        inject.pop_many(share, |runnable| {
            if first.is_none() {
                first = Some(runnable);
            } else {
                self.push_own(core, runnable);
            }
        });
        first
    }

    /// Searches for tasks, unless enough workers do: in one pass over the run queues of other
    /// workers, then in the injection queue. Then spins, if that has paid off recently.
    pub(super) fn search(&self, now: Instant) -> Option<Runnable> {
        let mut core = self.enter()?;
        if !core.searching {
            core.searching = self.scheduler.idle.begin_search(self.searchers_max());
        }
        if !core.searching {
            return None;
        }
        let found = self.steal(&mut core, |_| true).or_else(|| self.take_injected(&mut core));
        if found.is_some() {
            return found;
        }
        let time_max = core.spin_budget.next_spin()?;
        drop(core);
        if !self.scheduler.idle.begin_spin() {
            return None;
        }
        let found = self.spin(now, time_max);
        self.scheduler.idle.end_spin();
        found
    }

    /// Spins for events of the driver, injected tasks, and queues that are worth a wake-up.
    fn spin(&self, started: Instant, time_max: Duration) -> Option<Runnable> {
        let mut took = Duration::ZERO;
        loop {
            self.look_at_driver();
            let has_ended_search = self.call_external_wakers();
            let mut core = self.enter()?;
            let woken = core.lifo.take().or_else(|| core.queue.pop(&self.worker().queue));
            if woken.is_some() || has_ended_search {
                // No credit: a worker that parks in the driver finds several events at once.
                core.spin_budget.record(false, took);
                return woken;
            }
            let found = self
                .take_injected(&mut core)
                .or_else(|| self.steal(&mut core, Worker::is_worth_a_wake_up));
            if found.is_some() || took >= time_max || self.scheduler.is_stopping() {
                core.spin_budget.record(found.is_some(), took);
                return found;
            }
            drop(core);
            for _ in 0..8 {
                hint::spin_loop();
            }
            took = started.elapsed();
        }
    }

    /// Steals half of the queue of a worker that `should_steal`, beginning with a random one.
    /// Returns one task to run, and puts the others into the run queue.
    fn steal(
        &self,
        core: &mut WorkerCore,
        should_steal: impl Fn(&Worker) -> bool,
    ) -> Option<Runnable> {
        let idle = &self.scheduler.idle;
        if !idle.is_any_queued() {
            return None;
        }
        let count = self.scheduler.worker_count();
        let (mut at, mut left) = (core.rng.below(count as u32) as usize, count);
        while let Some(index) = idle.next_queued(at, left, self.index) {
            let victim = &self.scheduler.workers[index];
            if idle.has_tasks(index, &victim.queue) && should_steal(victim) {
                let stolen = self.steal_from(core, index);
                if stolen.is_some() {
                    return stolen;
                }
            }
            left -= (index + count - at) % count + 1;
            at = (index + 1) % count;
        }
        None
    }

    fn steal_from(&self, core: &mut WorkerCore, index: usize) -> Option<Runnable> {
        let (own, victim) = (self.worker(), &self.scheduler.workers[index]);
        let (runnable, count) = victim.queue.steal_into(&own.queue, &mut core.queue)?;
        own.metrics.steal_operations.add(1);
        own.metrics.steals.add(count as u64);
        own.poll_estimate.copy_from(&victim.poll_estimate);
        (core.samples_next, core.stolen_from) = (true, Some(index));
        if count > 1 {
            core.owes_notify |= self.scheduler.idle.set_queued(self.index);
        }
        Some(runnable)
    }

    /// Ends the search, because work was found, and unparks another worker if there may be more.
    pub(super) fn end_search(&self) {
        let Some(mut core) = self.enter() else { return };
        if !take(&mut core.searching) {
            return;
        }
        let was_last = self.scheduler.idle.end_search();
        let has_more = was_last && self.scheduler.has_visible_work();
        drop(core);
        if has_more {
            self.scheduler.notify_parked();
        }
    }
}
