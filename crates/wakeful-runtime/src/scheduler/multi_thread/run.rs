//! A worker's loop: picks the next task, runs maintenance, steals, parks.
//!
//! The order in which a worker looks for a task is in `next`: the injection queue every so many
//! polls, the LIFO slot, the run queue, the injection queue again. `run_task.rs` polls the task.
//! Without a task the worker searches (`steal.rs`), then parks (`park.rs`).

use super::worker::WorkerCore;
use super::worker_thread::WorkerThread;
use std::time::Instant;
use wakeful_task::Runnable;

impl WorkerThread {
    /// Runs the worker until the lease is revoked or the runtime stops.
    pub(super) fn run(&self) {
        let mut busy_since = Instant::now();
        loop {
            let Some(next) = self.next() else { return };
            match next {
                Step::Run(runnable) => self.run_task(runnable),
                Step::RunFound(runnable) => self.run_found(runnable),
                Step::Maintain => {
                    let now = self.run_maintenance();
                    busy_since = self.worker().metrics.add_busy(busy_since, now);
                }
                Step::Nothing => {
                    let now = self.worker().metrics.add_busy(busy_since, Instant::now());
                    self.measure_polls(now);
                    let found = self.search(now);
                    if found.is_none() {
                        self.park();
                    }
                    let just_woke = self.enter().and_then(|core| core.just_woke);
                    busy_since = just_woke.unwrap_or_else(Instant::now);
                    if let Some(runnable) = found {
                        self.end_pause(busy_since);
                        self.run_found(runnable);
                    }
                }
                Step::Stop => {
                    self.worker().metrics.add_busy(busy_since, Instant::now());
                    return self.stop();
                }
            }
        }
    }

    /// Returns what to do next, or `None` if the lease is revoked.
    #[inline]
    fn next(&self) -> Option<Step> {
        let mut core = self.enter()?;
        if core.until_maintenance == 0 {
            core.until_maintenance = self.scheduler.config.event_interval;
            return Some(if self.scheduler.is_stopping() { Step::Stop } else { Step::Maintain });
        }
        core.until_maintenance -= 1;
        core.until_inject -= 1;
        if core.until_inject == 0 {
            core.until_inject = core.poll_stats.inject_interval();
            if let Some(runnable) = self.scheduler.inject.pop() {
                return Some(Step::run(&core, runnable));
            }
        }
        let local = core.lifo.take().or_else(|| self.pop_own(&mut core));
        Some(match local.or_else(|| self.take_injected(&mut core)) {
            Some(runnable) => Step::run(&core, runnable),
            None if core.has_deferred() || self.worker().walk.is_requested() => Step::Maintain,
            None => Step::Nothing,
        })
    }

    /// Takes the task at the front of the run queue.
    #[inline]
    fn pop_own(&self, core: &mut WorkerCore) -> Option<Runnable> {
        let runnable = core.queue.pop(&self.worker().queue)?;
        core.samples_next = core.until_sample == 0;
        core.until_sample = match core.until_sample {
            0 => self.worker().poll_estimate.sample_interval(),
            left => left - 1,
        };
        Some(runnable)
    }

    /// Runs a task that a search has found.
    #[cold]
    fn run_found(&self, runnable: Runnable) {
        self.end_search();
        self.run_task(runnable);
    }

    /// Retires the worker. The last worker to stop drops all tasks.
    fn stop(&self) {
        if let Some(core) = self.enter() {
            if core.searching {
                let _irrelevant_once_stopping = self.scheduler.idle.end_search();
            }
        }
        let metrics = &self.worker().metrics;
        if metrics.parks.get() == 0 {
            // A runtime that stops before its workers have started counts one park for each of
            // them.
            metrics.note_park();
            metrics.unparks.add(1);
        }
        let left = self.worker().lease_slot.retire(&self.lease);
        debug_assert!(left, "only the lease of a worker in user code is revoked");
        if self.scheduler.worker_stopped() {
            self.scheduler.clear_up();
        }
    }
}

/// What a worker does next.
enum Step {
    Run(Runnable),
    /// The same, for a worker that was searching.
    RunFound(Runnable),
    /// Maintenance is due, or only deferred tasks and wakers are left, or a census.
    Maintain,
    Nothing,
    Stop,
}

impl Step {
    #[inline]
    fn run(core: &WorkerCore, runnable: Runnable) -> Step {
        if core.searching { Step::RunFound(runnable) } else { Step::Run(runnable) }
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "run/tests/loom.rs"]
mod loom;
