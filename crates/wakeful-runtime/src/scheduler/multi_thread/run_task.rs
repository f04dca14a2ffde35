//! A task's turn: its poll, and what becomes of it.

use super::lease::UserCode;
use super::worker::{ENDED_ELSEWHERE_MAX, ListId, TaskList, WorkerCore};
use super::worker_thread::{CoreSection, WorkerThread};
use crate::config;
use wakeful_base::budget::{self, Budget};
use wakeful_task::{FinishingTask, Polled, Runnable, RunningTask, TaskRef};

impl WorkerThread {
    /// Polls a task, and those that it woke last.
    pub(super) fn run_task(&self, mut runnable: Runnable) {
        let _budget = budget::replace(Budget::INITIAL);
        let mut streak = 0;
        loop {
            self.poll(runnable);
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
                    self.end_streak(&mut core, streak, woken);
                    break;
                }
            }
        }
        if self.scheduler.idle.has_idle() {
            self.share_work();
        }
    }

    /// After `streak` more polls than the first. A task that was `woken` and has no budget left waits for its turn.
    #[inline]
    fn end_streak(&self, core: &mut WorkerCore, streak: u32, woken: Option<Runnable>) {
        let (worker, metrics) = (self.worker(), &self.worker().metrics);
        if let Some(woken) = woken {
            core.queue.push(&worker.queue, woken);
        }
        core.lifo_enabled = self.uses_lifo_slot(core);
        core.count_streak(streak);
        metrics.note_budget();
        metrics.progress.add(u64::from(budget::paid()));
    }

    /// Polls one task and sees to what becomes of it. User code runs in here.
    #[inline]
    fn poll(&self, runnable: Runnable) {
        let metrics = &self.worker().metrics;
        metrics.polls.add(1);
        self.lease.begin_user_code(UserCode::Poll(runnable.task()));
        let hooks = &self.scheduler.config.hooks;
        let polled = if hooks.before_poll.is_none() && hooks.after_poll.is_none() {
            runnable.run()
        } else {
            self.poll_with_hooks(runnable)
        };
        match polled {
            Polled::Pending(running) => self.settle(running),
            Polled::Ended(ended) => self.end(ended),
        }
    }

    #[cold]
    fn poll_with_hooks(&self, runnable: Runnable) -> Polled {
        let hooks = &self.scheduler.config.hooks;
        config::call_for(&hooks.before_poll, &runnable);
        let polled = runnable.run();
        // SAFETY: whatever became of it, we have the reference that keeps it alive.
        config::call_for(&hooks.after_poll, unsafe { polled.task().as_ref() });
        polled
    }

    /// Lets a task wait, or queues it again if it was woken during its poll.
    #[inline]
    fn settle(&self, running: RunningTask) {
        self.lease.end_user_code();
        let yields = self.yielding.take();
        let Some(mut core) = self.enter() else {
            return self.scheduler.settle_without_worker(running, yields);
        };
        // SAFETY: all tasks of this scheduler have a `TaskList`.
        let home = unsafe { running.home::<TaskList>() };
        // SAFETY: a live task's home is valid.
        if unsafe { home.as_ref() }.list == ListId::Unlisted {
            // SAFETY: our seat's home lives as long as the one it replaces; a fresh task is in no list.
            unsafe {
                running.set_home(self.worker().task_list.as_ptr());
                core.owned.push_front(running.task());
            }
        }
        if yields {
            core.yielded.push(running.requeue());
        } else if let Some(again) = running.idle() {
            self.worker().metrics.local_schedules.add(1);
            core.queue.push(&self.worker().queue, again);
        }
    }

    /// Takes leave of a task that has ended. User code runs in here.
    #[inline]
    fn end(&self, ended: FinishingTask) {
        // SAFETY: all tasks of this scheduler have a `TaskList`, valid as long as they live.
        let list = unsafe { ended.home::<TaskList>().as_ref() }.list;
        self.yielding.set(false);
        match (self.enter(), list) {
            (Some(mut core), ListId::Worker(index)) if index != self.index => {
                self.begin_end(&mut core, &ended, Some(ended.task()));
                core.ended_elsewhere = core.ended_elsewhere.wrapping_add(1);
                let is_batch_full = core.ended_elsewhere % ENDED_ELSEWHERE_MAX == 0;
                self.worker().metrics.ended.add(1);
                drop(core);
                return self.end_elsewhere(ended, index, is_batch_full);
            }
            (Some(mut core), ListId::Worker(_) | ListId::Unlisted) => {
                self.begin_end(&mut core, &ended, None);
                if list != ListId::Unlisted {
                    // SAFETY: it is in our list.
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

    /// Ends a task that is in the list of another seat, and leaves it there to be taken out.
    fn end_elsewhere(&self, ended: FinishingTask, index: usize, is_batch_full: bool) {
        self.call_terminate_hook(&ended);
        let done = ended.complete_keeping_ref();
        self.lease.end_user_code();
        let Some(core) = self.enter() else {
            return self.scheduler.push_ended_without_worker(index, done);
        };
        // While we sit here nobody clears up.
        self.scheduler.workers[index].push_ended(done);
        drop(core);
        if is_batch_full {
            self.scheduler.wake_for_ended();
        }
    }

    /// Whether what is woken now comes next anyhow. Then it is the slot's, even when that had its share:
    /// in the queue a thief would take it, and two tasks that wake each other would go to and fro.
    fn is_next_in_line(&self, core: &WorkerCore) -> bool {
        let has_queued = core.queue.held_back() > 0 || !self.worker().queue.is_empty();
        self.uses_lifo_slot(core) && core.lifo.is_none() && !has_queued
    }

    #[inline]
    fn uses_lifo_slot(&self, core: &WorkerCore) -> bool {
        self.scheduler.config.lifo_slot && core.poll_stats.allows_lifo_slot()
    }

    /// From here on, what is run is about the end of a task: who sees us stuck there is told of which.
    #[inline]
    fn begin_end(&self, core: &mut WorkerCore, ended: &FinishingTask, listed: Option<TaskRef>) {
        // SAFETY: the scheduler's reference keeps the task alive.
        let task = unsafe { ended.task().as_ref() };
        core.ending = Some((task.id(), task.spawned_at()));
        self.lease.begin_user_code(UserCode::End(listed));
    }

    fn call_terminate_hook(&self, ended: &FinishingTask) {
        // SAFETY: the scheduler's reference keeps the task alive.
        config::call_for(&self.scheduler.config.hooks.terminate, unsafe { ended.task().as_ref() });
    }

    /// Puts a woken or new task next in line.
    #[inline]
    pub(super) fn push_woken(&self, mut core: CoreSection<'_>, runnable: Runnable) {
        self.worker().metrics.local_schedules.add(1);
        let is_next = core.lifo_enabled || self.is_next_in_line(&core);
        let behind = if is_next { core.lifo.replace(runnable) } else { Some(runnable) };
        if let Some(count) = self.batch_woken.get() {
            self.batch_woken.set(Some(count + 1));
        }
        let Some(behind) = behind else { return };
        core.queue.push(&self.worker().queue, behind);
        drop(core);
        if self.batch_woken.get().is_none() && self.should_call_for(self.worker().queue.len()) {
            self.scheduler.notify_parked();
        }
    }
}
