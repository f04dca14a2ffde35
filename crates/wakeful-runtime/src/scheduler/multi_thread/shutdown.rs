//! How the many workers stop, and what happens to tasks whose poller has no seat.
//!
//! ```text
//!   (1) stop: `stopping` is set, all sleepers are called
//!   (2) each worker, at its next look: leaves its seat; the last one goes on
//!   (3) clear_up, on that thread: all seats are its own now. It drops every future, until the queues
//!       and lists are empty
//!   (4) `cleared` is set, the inject queue closed: who still comes with a task cancels it himself
//! ```
//!
//! Two kinds of task are not (3)'s to take. One that was woken a moment ago by another thread is
//! active but in no queue yet: (3) waits for it, which is short, for no user code runs in between.
//! One that is being polled, or ended, by a thread which lost its seat is that thread's: it is noted as
//! `detached`, and finds out when it comes back. So that it cannot come back in the middle, it settles its
//! task under the same lock under which `cleared` is set.

use super::worker::{ENDED_ELSEWHERE_MAX, ListId, TaskList, WorkerCore};
use super::{MultiThread, SharedTasks};
use crate::config;
use crate::metrics::RemoteMetrics;
use std::sync::Arc;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::list::List;
use wakeful_base::sync::atomic::Ordering::*;
use wakeful_base::sync::thread;
use wakeful_task::{CompletedTask, FinishingTask, OwnedLink, Runnable, RunningTask, TaskRef};

impl MultiThread {
    /// (1) Tells all workers to stop.
    pub(crate) fn stop(&self) {
        if !self.stopping.swap(true, SeqCst) {
            for worker in &self.workers {
                worker.park_state.unpark(&self.driver);
            }
        }
    }

    /// (2) A worker has left its seat for good. True if it was the last.
    pub(super) fn worker_stopped(&self) -> bool {
        self.workers_left.fetch_sub(1, AcqRel) == 1
    }

    /// (3) and (4). Drops every task. Called by the last worker, once.
    pub(super) fn clear_up(self: &Arc<Self>) {
        loop {
            self.cancel_queued();
            self.cancel_waiting();
            if self.finish_clearing() {
                break;
            }
            thread::yield_now();
        }
        self.info.io.shut_down();
        self.info.time.begin_shutdown();
        for (index, worker) in self.workers.iter().enumerate() {
            self.info.time.fire_all(&worker.left_timers, |f| {
                self.with_left_core(index, |core| f(&mut core.timers));
            });
        }
        let mut late = Vec::new();
        self.inject.close(|runnable| late.push(runnable));
        for runnable in late {
            self.cancel(runnable);
        }
        for index in 0..self.workers.len() {
            self.with_left_core(index, |core| core.refs.empty(self));
        }
        self.stalls.monitor.end();
    }

    fn cancel_queued(&self) {
        for index in 0..self.workers.len() {
            let queue = &self.workers[index].queue;
            let next = |core: &mut WorkerCore| {
                let next = core.lifo.take().or_else(|| core.yielded.pop());
                next.or_else(|| core.queue.pop(queue))
            };
            while let Some(runnable) = self.with_left_core(index, next) {
                self.cancel_listed(runnable);
            }
            drop(self.with_left_core(index, |core| self.workers[index].take_ended(core)));
            // They may belong to somebody else, who goes on.
            let next_waker = |core: &mut WorkerCore| {
                core.external_wakers.pop_front().or_else(|| core.deferred.pop_front())
            };
            while let Some(waker) = self.with_left_core(index, next_waker) {
                contain_panic(|| waker.wake());
            }
        }
        while let Some(runnable) = self.inject.pop() {
            self.cancel_listed(runnable);
        }
    }

    /// Drops the future of a task from a queue, which may be in a list as well.
    fn cancel_listed(&self, runnable: Runnable) {
        let ended = runnable.cancel();
        let task = ended.task();
        // SAFETY: all tasks of this scheduler have a `TaskList`, which says in which list they are.
        unsafe {
            match ended.home::<TaskList>().as_ref().list {
                ListId::Unlisted => false,
                ListId::Worker(index) => self.with_left_core(index, |core| core.owned.remove(task)),
                ListId::Common => self.shared_tasks.lock().tasks.remove(task),
            }
        };
        self.finish(ended);
    }

    /// Cancels every task that waits.
    fn cancel_waiting(&self) {
        for index in 0..self.workers.len() {
            // The list is ours alone, even where its tasks are being polled: who ends one of them
            // without a seat leaves it to us to take it out.
            let mut list = self.with_left_core(index, |core| std::mem::take(&mut core.owned));
            let mut rest = List::new();
            while let Some(task) = list.pop_front() {
                // SAFETY: what was in the list until now is alive, and in none now.
                match unsafe { RunningTask::claim_idle(task) } {
                    Some(running) => self.finish(running.cancel()),
                    // SAFETY: as above.
                    None => unsafe { rest.push_back(task) },
                }
            }
            self.with_left_core(index, |core| core.owned = rest);
        }
        // Pollers take their tasks out of the common list themselves, so all of them have to be in it
        // whenever the lock is free.
        while let Some(running) = self.claim_shared() {
            self.finish(running.cancel());
        }
    }

    /// Takes a task that waits out of the common list.
    fn claim_shared(&self) -> Option<RunningTask> {
        let mut shared_tasks = self.shared_tasks.lock();
        let (mut passed, mut claimed) = (List::<OwnedLink>::new(), None);
        while let Some(task) = shared_tasks.tasks.pop_front() {
            // SAFETY: what was in the list until now is alive, and in none now.
            unsafe {
                claimed = RunningTask::claim_idle(task);
                if claimed.is_some() {
                    break;
                }
                passed.push_back(task);
            }
        }
        while let Some(task) = passed.pop_front() {
            // SAFETY: as before. It goes where those are that the next call looks at last.
            unsafe { shared_tasks.tasks.push_back(task) };
        }
        claimed
    }

    /// (4) Leaves what is being polled to its pollers. False if something else turned up.
    fn finish_clearing(&self) -> bool {
        let mut shared_tasks = self.shared_tasks.lock();
        if self.workers.iter().any(|worker| worker.has_ended()) {
            return false;
        }
        // Pollers settle under our lock, so what is away stays so for as long as we hold it.
        let SharedTasks { tasks, detached, .. } = &*shared_tasks;
        let mut only_away = true;
        let mut check = |task| only_away &= detached.contains(&task);
        tasks.for_each(&mut check);
        for index in 0..self.workers.len() {
            self.with_left_core(index, |core| core.owned.for_each(&mut check));
        }
        if only_away {
            shared_tasks.cleared = true;
            while shared_tasks.tasks.pop_front().is_some() {}
            for index in 0..self.workers.len() {
                self.with_left_core(index, |core| while core.owned.pop_front().is_some() {});
            }
        }
        only_away
    }

    /// Access to the core of a seat that its worker left.
    fn with_left_core<R>(&self, index: usize, f: impl FnOnce(&mut WorkerCore) -> R) -> R {
        // SAFETY: all workers have left (`worker_stopped` orders it), and only the last one is here. No
        // user code runs in any of the closures above.
        self.workers[index].core.with_mut(|core| f(unsafe { &mut *core }))
    }

    /// Drops the future of a task that is in no list.
    pub(super) fn cancel(&self, runnable: Runnable) {
        self.finish(runnable.cancel());
    }

    /// Takes leave of a task that is in no list, on a thread without a seat.
    fn finish(&self, ended: FinishingTask) {
        self.note_end(&ended);
        ended.complete();
    }

    fn note_end(&self, ended: &FinishingTask) {
        RemoteMetrics::inc(&self.remote.ended);
        // SAFETY: the scheduler's reference keeps the task alive.
        config::call_for(&self.config.hooks.terminate, unsafe { ended.task().as_ref() });
    }

    /// Notes that `task` is polled by a thread that has no seat from now on.
    pub(super) fn begin_detached(&self, task: TaskRef) {
        self.shared_tasks.lock().detached.push(task);
    }

    /// The poller of `task` has a seat again.
    pub(super) fn end_detached(&self, task: TaskRef) {
        self.shared_tasks.lock().remove_detached(task);
    }

    /// Lets a task wait, or gives it another turn, whose poller lost its seat meanwhile.
    pub(super) fn settle_without_worker(&self, running: RunningTask, yields: bool) {
        let mut shared_tasks = self.shared_tasks.lock();
        if shared_tasks.cleared || self.is_stopping() {
            drop(shared_tasks);
            // Away until its future is gone, so that nobody waits for that.
            return self.end_without_worker(running.cancel());
        }
        shared_tasks.remove_detached(running.task());
        // SAFETY: all tasks of this scheduler have a `TaskList`, valid as long as they live.
        if unsafe { running.home::<TaskList>().as_ref() }.list == ListId::Unlisted {
            // SAFETY: the common home is as good as the fresh one; a fresh task is in no list.
            unsafe {
                running.set_home(self.shared_list.as_ptr());
                shared_tasks.tasks.push_back(running.task());
            }
        }
        let again = if yields { Some(running.requeue()) } else { running.idle() };
        drop(shared_tasks);
        if let Some(again) = again {
            self.push_remote(again);
        }
    }

    /// Takes leave of a task whose poller has no seat, or that is in the common list.
    pub(super) fn end_without_worker(&self, ended: FinishingTask) {
        self.note_end(&ended);
        // SAFETY: as above.
        let list = unsafe { ended.home::<TaskList>().as_ref() }.list;
        if let ListId::Worker(index) = list {
            // Away all the while, for who clears up must not wait for the drop of an output.
            return self.push_ended_without_worker(index, ended.complete_keeping_ref());
        }
        let mut shared_tasks = self.shared_tasks.lock();
        shared_tasks.remove_detached(ended.task());
        if list == ListId::Common && !shared_tasks.cleared {
            // SAFETY: it is in the common list.
            unsafe { shared_tasks.tasks.remove(ended.task()) };
        }
        drop(shared_tasks);
        ended.complete();
    }

    /// Leaves a complete task to the seat in whose list it is, on a thread without a seat: the task is away
    /// until here.
    pub(super) fn push_ended_without_worker(&self, index: usize, done: CompletedTask) {
        let mut shared_tasks = self.shared_tasks.lock();
        shared_tasks.remove_detached(done.task());
        if shared_tasks.cleared {
            drop(shared_tasks);
            // It is in no list any more.
            return drop(done);
        }
        self.workers[index].push_ended(done);
        shared_tasks.ended_elsewhere = shared_tasks.ended_elsewhere.wrapping_add(1);
        let is_batch_full = shared_tasks.ended_elsewhere % ENDED_ELSEWHERE_MAX == 0;
        drop(shared_tasks);
        if is_batch_full {
            self.wake_for_ended();
        }
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "shutdown/tests/loom.rs"]
mod loom;
