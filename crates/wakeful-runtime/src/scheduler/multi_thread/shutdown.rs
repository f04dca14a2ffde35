//! Shutdown, and what happens to tasks whose poller has no lease.
//!
//! ```text
//!   (1) stop: set `stopping`, unpark all workers
//!   (2) each worker, at its next maintenance, retires its lease; the last one continues with
//!   (3) clear_up: its thread has all cores to itself now, and drops every future until queues and
//!       lists are empty
//!   (4) set `cleared`, close the injection queue: a thread that comes later with a task cancels it
//! ```
//!
//! (3) cannot drop two kinds of task. A task that another thread has just woken is not in a queue
//! yet. (3) waits for its entry; the wait is short, since no user code runs in between. A task that
//! is being polled, or ended, by a thread without a lease belongs to that thread. Such a task
//! is noted as `detached`, and its thread finds `cleared` set when it returns. It settles its task
//! under the same lock under which `cleared` is set, so it cannot return in the middle of (4).

use super::lease::Lease;
use super::worker::{ListId, TaskList, WorkerCore};
use super::{Detached, MultiThread};
use crate::config;
use crate::metrics::RemoteMetrics;
use std::sync::Arc;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::list::List;
use wakeful_base::sync::atomic::Ordering::*;
use wakeful_base::sync::thread;
use wakeful_task::{CompletedTask, FinishingTask, OwnedLink, Runnable, RunningTask, TaskRef};

impl MultiThread {
    /// (1) Sets the stop flag and unparks all workers.
    pub(crate) fn stop(&self) {
        if !self.stopping.swap(true, SeqCst) {
            for worker in &self.workers {
                worker.park_state.unpark(&self.driver);
            }
        }
    }

    /// (2) Counts a worker as stopped. Returns true if it was the last.
    pub(super) fn worker_stopped(&self) -> bool {
        self.workers_left.fetch_sub(1, AcqRel) == 1
    }

    /// (3) and (4). Drops every task. Called once, by the last worker.
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
                self.with_retired_core(index, |core| f(&mut core.timers));
            });
        }
        let mut late = Vec::new();
        self.inject.close(|runnable| late.push(runnable));
        for runnable in late {
            self.cancel(runnable);
        }
        for index in 0..self.workers.len() {
            self.with_retired_core(index, |core| core.refs.empty(self));
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
            while let Some(runnable) = self.with_retired_core(index, next) {
                self.cancel_listed(runnable);
            }
            drop(self.with_retired_core(index, |core| self.workers[index].take_ended(core)));
            // Woken, not dropped: they may belong to tasks of other runtimes, which live on.
            let next_waker = |core: &mut WorkerCore| {
                core.external_wakers.pop_front().or_else(|| core.deferred.pop_front())
            };
            while let Some(waker) = self.with_retired_core(index, next_waker) {
                contain_panic(|| waker.wake());
            }
        }
        while let Some(runnable) = self.inject.pop() {
            self.cancel_listed(runnable);
        }
    }

    /// Drops the future of a queued task, which may be in a list as well.
    fn cancel_listed(&self, runnable: Runnable) {
        let ended = runnable.cancel();
        let task = ended.task();
        // SAFETY: the home of every task of this scheduler is a `TaskList` that outlives it. It
        // says which list the task is in, and this thread has that list to itself: it is in a
        // retired core, or locked.
        unsafe {
            match ended.home::<TaskList>().as_ref().list {
                ListId::Unlisted => false,
                ListId::Worker(index) => {
                    self.with_retired_core(index, |core| core.owned.remove(task))
                }
                ListId::Shared => self.shared_tasks.lock().tasks.remove(task),
            }
        };
        self.finish(ended);
    }

    /// Cancels every waiting task.
    fn cancel_waiting(&self) {
        for index in 0..self.workers.len() {
            // Only this thread touches the list, even while its tasks are being polled: a thread
            // without a lease leaves the tasks that it ends in the list.
            let mut list = self.with_retired_core(index, |core| std::mem::take(&mut core.owned));
            let mut rest = List::new();
            while let Some(task) = list.pop_front() {
                // SAFETY: the list kept the task alive with the scheduler's reference, and it is in
                // no list any more.
                match unsafe { RunningTask::claim_idle(task) } {
                    Some(running) => self.finish(running.cancel()),
                    // SAFETY: as above; a failed claim changes nothing.
                    None => unsafe { rest.push_back(task) },
                }
            }
            self.with_retired_core(index, |core| core.owned = rest);
        }
        // Pollers take their tasks out of the shared list themselves, so all tasks must be in it
        // whenever the lock is free.
        while let Some(running) = self.claim_shared() {
            self.finish(running.cancel());
        }
    }

    /// Claims a waiting task of the shared list and takes it out.
    fn claim_shared(&self) -> Option<RunningTask> {
        let mut shared_tasks = self.shared_tasks.lock();
        let (mut skipped, mut claimed) = (List::<OwnedLink>::new(), None);
        while let Some(task) = shared_tasks.tasks.pop_front() {
            // SAFETY: the list kept the task alive with the scheduler's reference, it is in no list
            // any more, and pollers cannot end it while this thread has the lock.
            unsafe {
                claimed = RunningTask::claim_idle(task);
                if claimed.is_some() {
                    break;
                }
                skipped.push_back(task);
            }
        }
        while let Some(task) = skipped.pop_front() {
            // SAFETY: as above. Skipped tasks go to the back: the next call reaches them last.
            unsafe { shared_tasks.tasks.push_back(task) };
        }
        claimed
    }

    /// (4) Leaves detached tasks to their pollers. Returns false if other tasks are left.
    fn finish_clearing(&self) -> bool {
        let mut shared_tasks = self.shared_tasks.lock();
        if self.workers.iter().any(|worker| worker.has_ended()) {
            return false;
        }
        // Pollers settle their tasks under this lock, so tasks that are detached now stay detached
        // until it is released.
        let mut only_detached = true;
        let mut check = |task| only_detached &= shared_tasks.is_detached(task);
        shared_tasks.tasks.for_each(&mut check);
        for index in 0..self.workers.len() {
            self.with_retired_core(index, |core| core.owned.for_each(&mut check));
        }
        if only_detached {
            shared_tasks.cleared = true;
            while shared_tasks.tasks.pop_front().is_some() {}
            for index in 0..self.workers.len() {
                self.with_retired_core(index, |core| while core.owned.pop_front().is_some() {});
            }
        }
        only_detached
    }

    /// Calls `f` with the core of a worker that has stopped.
    fn with_retired_core<R>(&self, index: usize, f: impl FnOnce(&mut WorkerCore) -> R) -> R {
        // SAFETY: all workers have retired their leases, which the AcqRel counter in
        // `worker_stopped` orders before this, and only the last worker's thread clears up. None of
        // the closures passed to this runs user code.
        self.workers[index].core.with_mut(|core| f(unsafe { &mut *core }))
    }

    /// Drops the future of a task that is in no list.
    pub(super) fn cancel(&self, runnable: Runnable) {
        self.finish(runnable.cancel());
    }

    /// Ends a task that is in no list, on a thread without a lease.
    fn finish(&self, ended: FinishingTask) {
        self.note_end(&ended);
        ended.complete();
    }

    fn note_end(&self, ended: &FinishingTask) {
        RemoteMetrics::inc(&self.remote.ended);
        // SAFETY: the scheduler's reference, which `ended` owns, keeps the task alive.
        config::call_for(&self.config.hooks.terminate, unsafe { ended.task().as_ref() });
    }

    /// Notes that `task` is being polled by a thread that has no lease from now on.
    ///
    /// `revoked` is the thread's lease, if that was revoked.
    pub(super) fn begin_detached(&self, task: TaskRef, revoked: Option<Arc<Lease>>) {
        self.shared_tasks.lock().detached.push(Detached { task, revoked });
    }

    /// Notes that the poller of `task` has a lease again.
    pub(super) fn end_detached(&self, task: TaskRef) {
        self.shared_tasks.lock().remove_detached(task);
    }

    /// Lets a task wait, or queues it, after a poll whose thread has lost its lease.
    pub(super) fn settle_without_worker(&self, running: RunningTask, yields: bool) {
        let mut shared_tasks = self.shared_tasks.lock();
        if shared_tasks.cleared || self.is_stopping() {
            drop(shared_tasks);
            // It stays detached until its future is dropped: the clear-up must not wait for that.
            return self.end_without_worker(running.cancel());
        }
        shared_tasks.remove_detached(running.task());
        // SAFETY: the home of every task of this scheduler is a `TaskList` that outlives it.
        if unsafe { running.home::<TaskList>().as_ref() }.list == ListId::Unlisted {
            // SAFETY: both homes are parts of the same scheduler, which the cell's reference keeps.
            // `running` gives this thread alone the right to change the task's home, this thread
            // has the list's lock, and an unlisted task is in no list.
            unsafe {
                running.set_home(self.shared_list.as_ptr());
                shared_tasks.tasks.push_back(running.task());
            }
        }
        let requeued = if yields { Some(running.requeue()) } else { running.idle() };
        drop(shared_tasks);
        if let Some(requeued) = requeued {
            self.config.note_scheduled(&requeued);
            self.push_remote(requeued);
        }
    }

    /// Ends a task whose poller has no lease, or that is in the shared list.
    pub(super) fn end_without_worker(&self, ended: FinishingTask) {
        self.note_end(&ended);
        // SAFETY: the home of every task of this scheduler is a `TaskList` that outlives it.
        let list = unsafe { ended.home::<TaskList>().as_ref() }.list;
        if let ListId::Worker(index) = list {
            // It stays detached: the clear-up must not wait for the drop of its output.
            return self.push_ended_without_worker(index, ended.complete_keeping_ref());
        }
        let mut shared_tasks = self.shared_tasks.lock();
        shared_tasks.remove_detached(ended.task());
        if list == ListId::Shared && !shared_tasks.cleared {
            // SAFETY: its home says that it is in the shared list, which this thread has locked.
            // Only (4) takes tasks that are being polled out of the list, and then `cleared` is
            // set.
            unsafe { shared_tasks.tasks.remove(ended.task()) };
        }
        drop(shared_tasks);
        ended.complete();
    }

    /// Leaves a completed task to the worker in whose list it is, on a thread without a lease. The
    /// task stays detached until then.
    pub(super) fn push_ended_without_worker(&self, index: usize, done: CompletedTask) {
        let mut shared_tasks = self.shared_tasks.lock();
        shared_tasks.remove_detached(done.task());
        if shared_tasks.cleared {
            drop(shared_tasks);
            // The clear-up has taken it out of its list.
            return drop(done);
        }
        let is_batch_full = self.workers[index].push_ended(done);
        drop(shared_tasks);
        if is_batch_full {
            self.wake_for_ended(index);
        }
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "shutdown/tests/loom.rs"]
mod loom;
