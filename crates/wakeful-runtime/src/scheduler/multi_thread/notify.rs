//! The notify rule: how many workers look for tasks in other workers' queues.
//!
//! - While tasks are queued, at least **one** worker searches, if there is one to unpark. So a task
//!   waits beside a parked worker for one wake-up only, whatever the estimates say.
//! - **More** workers search at a time only if that many are needed: polls take longer than a
//!   wake-up, and each searcher has twice that much work to find. Short tasks are often gone by the
//!   time a second worker is up, and moving them between CPUs costs more than running them.
//! - A worker that is **awake** and runs out of tasks searches too, since that costs no wake-up.
//!   But while polls are shorter than a steal, no more workers search than queues have tasks:
//!   otherwise they would compete for each task, and delay its owner.
//! - A worker that **spins** leaves a queue alone that is not worth a wake-up, for the time of its
//!   spin: it would take short tasks one by one, and delay their owner at each. It steals them if
//!   they are still there when it gives up.
//!
//! What a wake-up costs is measured (`wake_cost.rs`), and so is how long polls take
//! (`poll_estimate.rs`).

use super::MultiThread;
use super::worker::{Worker, WorkerCore};
use super::worker_thread::{CoreSection, WorkerThread};
use crate::wake_cost;

/// How many workers search at a time for the queue of one worker, at most. Bounds the wake-ups that
/// a wrong estimate leads to. Each searcher that finds work unparks the next one in turn.
const SEARCHERS_MAX: u64 = 4;

/// How many wake-ups' worth of work each further searcher needs: one pays for the wake-up, and one
/// is what the searcher takes off the others.
const WAKE_UPS_PER_SEARCHER: u64 = 2;

/// What it costs to steal a task and run it on another CPU: about ten cache lines move, each of
/// which takes 50 to 100 ns on current machines with one socket.
const STEAL_COST_NS: u64 = 1_000;

impl Worker {
    /// Returns how many workers should search for the tasks in this queue.
    #[inline]
    fn searchers_wanted(&self) -> usize {
        let queued = self.queue.len() as u64;
        let (poll_ns, wake_ns) = (self.poll_estimate.ns(), wake_cost::get_ns());
        if queued < 2 || poll_ns < wake_ns {
            return usize::from(queued > 0);
        }
        let wanted = queued * poll_ns / (WAKE_UPS_PER_SEARCHER * wake_ns);
        wanted.clamp(1, SEARCHERS_MAX) as usize
    }

    /// Returns whether a spinning worker should steal from this one.
    pub(super) fn is_worth_a_wake_up(&self) -> bool {
        let queued_ns = (self.queue.len() as u64).saturating_mul(self.poll_estimate.ns());
        queued_ns >= WAKE_UPS_PER_SEARCHER * wake_cost::get_ns()
    }
}

impl WorkerThread {
    /// Returns how many workers may search if this one does.
    pub(super) fn searchers_max(&self) -> usize {
        let is_short = self.worker().poll_estimate.ns() < STEAL_COST_NS;
        if is_short { self.scheduler.idle.queued_count().max(1) } else { usize::MAX }
    }

    /// Ends the section, and unparks a worker for the tasks queued here, if it should. Comes before
    /// all user code on this thread and after each push by user code: user code may block.
    #[inline]
    pub(super) fn notify_for_queued(&self, mut core: CoreSection<'_>) {
        let wanted = self.searchers_to_notify(&mut core);
        drop(core);
        self.scheduler.notify_searchers(wanted);
    }

    /// Returns how many workers may search at a time, if another one should be unparked for the
    /// tasks queued here, and zero if not.
    #[inline]
    fn searchers_to_notify(&self, core: &mut WorkerCore) -> usize {
        let is_short = self.worker().poll_estimate.ns() < wake_cost::get_ns();
        if (is_short && !core.owes_notify) || self.worker().queue.is_empty() {
            return 0;
        }
        core.owes_notify = false;
        if !self.scheduler.idle.has_parked() {
            return 0;
        }
        let wanted = self.worker().searchers_wanted();
        if self.scheduler.idle.should_notify(wanted) { wanted } else { 0 }
    }
}

impl MultiThread {
    /// Unparks a parked worker unless another worker is searching already.
    pub(super) fn notify_parked(&self) {
        self.notify_searchers(1);
    }

    /// Unparks a parked worker if fewer than `searchers` workers are searching.
    pub(super) fn notify_searchers(&self, searchers: usize) {
        if searchers == 0 {
            return;
        }
        if let Some(index) = self.idle.worker_to_notify(searchers) {
            self.workers[index].park_state.unpark_for_work(&self.driver);
        }
    }
}
