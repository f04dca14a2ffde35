//! One task on a worker: its poll, and what happens to the task afterwards.
//!
//! `run_task` polls a task and then the tasks that come to the LIFO slot, a LIFO streak. A pending
//! task enters the worker's task list after its first poll, and waits, or is queued again. A task
//! that has ended leaves its list; if the list is that of another worker, the task is handed back
//! to that worker.

use super::lease::UserCode;
use super::worker::{ListId, TaskList, WorkerCore};
use super::worker_thread::{CoreSection, WorkerThread};
use crate::config;
use std::mem::take;
use std::time::Instant;
use wakeful_base::budget::{self, Budget};
use wakeful_task::{FinishingTask, Polled, Runnable, RunningTask, TaskRef, recording};

impl WorkerThread {
    /// Polls a task, then the tasks that come to the LIFO slot meanwhile, until the streak ends.
    pub(super) fn run_task(&self, mut runnable: Runnable) {
        let _budget = budget::replace(Budget::INITIAL);
        let mut streak = 0;
        loop {
            let mut is_sample = false;
            if let Some(mut core) = self.enter() {
                is_sample = take(&mut core.samples_next);
                // While polls are long, those of all queued tasks are samples.
                if core.owes_notify || is_sample {
                    self.notify_for_queued(core);
                }
            }
            if is_sample {
                self.poll_sampled(runnable);
            } else {
                self.poll(runnable);
            }
            let Some(mut core) = self.enter() else { return };
            let lifo_streak_max = core.poll_stats.lifo_streak_max();
            let woken = if streak < lifo_streak_max { core.lifo.take() } else { None };
            match woken {
                Some(woken) if budget::has_remaining() => {
                    streak += 1;
                    core.lifo_enabled = streak < lifo_streak_max;
                    drop(core);
                    runnable = woken;
                }
                woken => {
                    return self.end_streak(&mut core, streak, woken);
                }
            }
        }
    }

    /// Ends a run of `1 + streak` polls. If the budget is used up, the `woken` task goes to the run
    /// queue.
    #[inline]
    fn end_streak(&self, core: &mut WorkerCore, streak: u32, woken: Option<Runnable>) {
        let metrics = &self.worker().metrics;
        if let Some(woken) = woken {
            self.push_own(core, woken);
        }
        core.lifo_enabled = self.uses_lifo_slot(core);
        core.count_streak(streak);
        metrics.note_budget();
    }

    /// Polls one task from a run queue, and adds the time to the estimate.
    #[cold]
    fn poll_sampled(&self, runnable: Runnable) {
        let begun = Instant::now();
        self.poll(runnable);
        let took = begun.elapsed();
        let Some(mut core) = self.enter() else { return };
        let estimate = &self.worker().poll_estimate;
        estimate.add(took);
        if let Some(victim) = core.stolen_from.take() {
            self.scheduler.workers[victim].poll_estimate.add(took);
        }
    }

    /// Polls one task and settles or ends it. Runs user code.
    #[inline]
    fn poll(&self, runnable: Runnable) {
        let metrics = &self.worker().metrics;
        metrics.polls.add(1);
        self.lease.begin_user_code(UserCode::Poll(runnable.task()));
        let polled =
            if recording::has_observers() { self.poll_observed(runnable) } else { runnable.run() };
        match polled {
            Polled::Pending(running) => self.settle(running),
            Polled::Ended(ended) => self.end(ended),
        }
    }

    #[cold]
    fn poll_observed(&self, runnable: Runnable) -> Polled {
        self.scheduler.config.observe_poll(&self.worker().metrics, runnable, |runnable| {
            runnable.run_observed(|| self.yielding.get())
        })
    }

    /// Leaves a pending task to its waker, or queues it again if it yielded or was woken during its
    /// poll.
    #[inline]
    fn settle(&self, running: RunningTask) {
        self.lease.end_user_code();
        let yields = self.yielding.take();
        let Some(mut core) = self.enter() else {
            return self.scheduler.settle_without_worker(running, yields);
        };
        // SAFETY: all tasks of this scheduler are created with a `TaskList` as home.
        let home = unsafe { running.home::<TaskList>() };
        // SAFETY: the home is a part of the scheduler, which the task's cell keeps alive.
        if unsafe { home.as_ref() }.list == ListId::Unlisted {
            // SAFETY: this worker's task list is a part of the same scheduler as the previous home,
            // so it lives as long. A task whose home is `Unlisted` is in no list, and the
            // scheduler's reference keeps it alive while it is in `owned`.
            unsafe {
                running.set_home(self.worker().task_list.as_ptr());
                core.owned.push_front(running.task());
            }
        }
        if yields {
            let again = running.requeue();
            self.scheduler.config.note_scheduled(&again);
            core.yielded.push(again);
        } else if let Some(again) = running.idle() {
            self.scheduler.config.note_scheduled(&again);
            self.worker().metrics.local_schedules.add(1);
            self.push_own(&mut core, again);
        }
    }

    /// Removes a task that has ended from its list, and completes it. Runs user code.
    #[inline]
    fn end(&self, ended: FinishingTask) {
        // SAFETY: all tasks of this scheduler are created with a `TaskList` as home, a part of the
        // scheduler, which the task's cell keeps alive.
        let list = unsafe { ended.home::<TaskList>().as_ref() }.list;
        self.yielding.set(false);
        match (self.enter(), list) {
            (Some(mut core), ListId::Worker(index)) if index != self.index => {
                self.begin_end(&mut core, &ended, Some(ended.task()));
                self.worker().metrics.ended.add(1);
                drop(core);
                return self.end_elsewhere(ended, index);
            }
            (Some(mut core), ListId::Worker(_) | ListId::Unlisted) => {
                self.begin_end(&mut core, &ended, None);
                if list != ListId::Unlisted {
                    // SAFETY: the task is in the list of this worker: the arm above has taken the
                    // tasks of other workers' lists. The core section gives this thread alone
                    // access to the list.
                    unsafe { core.owned.remove(ended.task()) };
                }
                self.worker().metrics.ended.add(1);
                drop(core);
                self.call_terminate_hook(&ended);
                ended.complete();
            }
            (Some(mut core), ListId::Shared) => {
                self.begin_end(&mut core, &ended, None);
                drop(core);
                self.scheduler.end_without_worker(ended);
            }
            (None, _) => {
                self.lease.begin_user_code(UserCode::End(None));
                self.scheduler.end_without_worker(ended);
            }
        }
        self.lease.end_user_code();
    }

    /// Completes a task that is in the list of another worker, and leaves it to that worker to
    /// remove.
    fn end_elsewhere(&self, ended: FinishingTask, index: usize) {
        self.call_terminate_hook(&ended);
        let done = ended.complete_keeping_ref();
        self.lease.end_user_code();
        let Some(core) = self.enter() else {
            return self.scheduler.push_ended_without_worker(index, done);
        };
        // Shutdown drops tasks only when every worker has retired. It cannot have come to that
        // while this thread holds the lease.
        let is_batch_full = self.scheduler.workers[index].push_ended(done);
        drop(core);
        if is_batch_full {
            self.scheduler.wake_for_ended(index);
        }
    }

    /// Returns whether a task that is woken now would run next even from the run queue. Then it
    /// goes to the LIFO slot even if the slot is disabled for this streak. In the queue another
    /// worker could steal it, and two tasks that wake each other would move back and forth.
    fn would_run_next(&self, core: &WorkerCore) -> bool {
        self.uses_lifo_slot(core) && core.lifo.is_none() && self.worker().queue.is_empty()
    }

    #[inline]
    pub(super) fn uses_lifo_slot(&self, core: &WorkerCore) -> bool {
        self.scheduler.config.lifo_slot && core.poll_stats.allows_lifo_slot()
    }

    /// Notes that the user code from here on belongs to the end of a task. The monitor reports that
    /// task if the code stalls.
    #[inline]
    fn begin_end(&self, core: &mut WorkerCore, ended: &FinishingTask, listed: Option<TaskRef>) {
        // SAFETY: `ended` holds the scheduler's reference, which keeps the task alive.
        let task = unsafe { ended.task().as_ref() };
        core.ending = Some((task.id(), task.spawned_at()));
        self.lease.begin_user_code(UserCode::End(listed));
    }

    fn call_terminate_hook(&self, ended: &FinishingTask) {
        // SAFETY: as in `begin_end`.
        config::call_for(&self.scheduler.config.hooks.terminate, unsafe { ended.task().as_ref() });
    }

    /// Puts a task at the end of the worker's own queue, where other workers can steal it.
    #[inline]
    pub(super) fn push_own(&self, core: &mut WorkerCore, runnable: Runnable) {
        core.queue.push(&self.worker().queue, runnable);
        core.owes_notify |= self.scheduler.idle.set_queued(self.index);
    }

    /// Queues a woken or new task: in the LIFO slot if that is enabled, else in the run queue.
    #[inline]
    pub(super) fn push_woken(&self, mut core: CoreSection<'_>, runnable: Runnable) {
        self.worker().metrics.local_schedules.add(1);
        let is_next = core.lifo_enabled || self.would_run_next(&core);
        let behind = if is_next { core.lifo.replace(runnable) } else { Some(runnable) };
        let Some(behind) = behind else { return };
        self.push_own(&mut core, behind);
        // What the driver or timers wake comes before the next user code, and its notification too.
        if self.lease.user_code().is_some() {
            self.notify_for_queued(core);
        }
    }
}
