//! How a census reaches all tasks of a multi-thread scheduler that have waited before.
//!
//! | the task is in | the steps of the walk are made by |
//! |---|---|
//! | the list of a worker that runs or is parked | its thread, in maintenance |
//! | the list of a worker stuck in user code | the census, with the lease suspended |
//! | the list of a vacant worker | the census, while the worker is vacant |
//! | the shared list, or detached | the census, under the lock |
//!
//! A worker can change from one of these rows to another in the middle of a walk: any of them
//! continues where the one before has stopped (`task_walk.rs`). Tasks that have never waited are in
//! queues only; those in the injection queue are listed, the others counted.

use super::MultiThread;
use super::lease::UserCode;
use super::worker_thread::WorkerThread;
use crate::stall::OsThread;
use crate::task_walk::{ListWalk, NEW_TASKS_MAX, StuckThread};
use wakeful_task::Retained;

/// How many steps of the worker's loop there are between two steps of a walk, at most.
const STEPS_BETWEEN: u32 = 16;

/// What a census found in one scheduler.
#[derive(Default)]
pub(crate) struct Walked {
    /// Some of them more than once.
    pub(crate) tasks: Vec<Retained>,
    pub(crate) stuck: Vec<StuckThread>,
    pub(crate) is_incomplete: bool,
}

impl WorkerThread {
    /// Makes a step of the walk that is requested. The next step comes after some more tasks.
    #[cold]
    pub(super) fn walk_tasks(&self) {
        let walk = &self.worker().walk;
        walk.step(&mut |visit| {
            if let Some(mut core) = self.enter() {
                visit(&mut core.owned);
            }
        });
        if walk.is_requested() {
            if let Some(mut core) = self.enter() {
                core.until_maintenance = core.until_maintenance.min(STEPS_BETWEEN);
            }
        }
    }
}

impl MultiThread {
    /// Requests a walk over all lists of workers.
    pub(crate) fn begin_walk(&self) {
        for worker in &self.workers {
            worker.walk.request();
            worker.park_state.unpark(&self.driver);
        }
    }

    /// Advances the walks that no worker advances. With `is_overdue`, workers whose threads are in
    /// user code do not get more time. Returns whether all walks are done.
    pub(crate) fn advance_walk(&self, is_overdue: bool) -> bool {
        let mut is_done = true;
        for worker in &self.workers {
            while worker.walk.is_requested() {
                if !self.step_instead(worker, is_overdue) {
                    is_done = false;
                    // Again: the thread may have parked just before the request.
                    if worker.park_state.is_parked() {
                        worker.park_state.unpark(&self.driver);
                    }
                    break;
                }
            }
        }
        is_done
    }

    /// Makes a step for a worker whose thread does not come to it. Returns false if it may.
    fn step_instead(&self, worker: &super::Worker, is_overdue: bool) -> bool {
        let mut has_stepped = false;
        worker.walk.step(&mut |visit| {
            has_stepped = worker.with_vacant_core(|core| visit(&mut core.owned)).is_some();
        });
        if has_stepped || !is_overdue {
            return has_stepped;
        }
        let Ok(_suspended) = worker.lease_slot.suspend() else { return false };
        worker.walk.step(&mut |visit| {
            // SAFETY: the holder cannot enter a core section while `_suspended` exists, and the
            // slot's lock keeps other threads out. The visit runs no user code.
            worker.core.with_mut(|core| visit(unsafe { &mut (*core).owned }));
        });
        true
    }

    /// Ends the walks and returns what was found.
    pub(crate) fn finish_walk(&self) -> Walked {
        let mut walked = Walked::default();
        for (index, worker) in self.workers.iter().enumerate() {
            walked.is_incomplete |= !worker.walk.finish(&mut walked.tasks);
            self.add_stuck_thread(index, &mut walked);
        }
        self.walk_shared(&mut walked);
        self.inject.retain_some(NEW_TASKS_MAX, &mut walked.tasks);
        walked
    }

    /// Adds what the thread of worker `index` does, if it is in user code.
    fn add_stuck_thread(&self, index: usize, walked: &mut Walked) {
        let worker = &self.workers[index];
        // The allocator may be user code, which must not run while the lease is suspended.
        walked.tasks.reserve(1);
        let Ok(suspended) = worker.lease_slot.suspend() else { return };
        let mut task = None;
        if let UserCode::Poll(polled) = suspended.user_code() {
            // SAFETY: the task being polled is alive while the lease is suspended.
            let polled = unsafe { Retained::new(polled) };
            task = Some(polled.id().as_u64());
            // A task that is being polled for the first time is in no list.
            walked.tasks.push(polled);
        }
        let progress = worker.progress();
        let since = worker.wake_stamp.user_code_since(progress);
        let lease = suspended.lease().clone();
        drop(suspended);
        walked.stuck.push(StuckThread {
            runtime: self.info.id.get(),
            worker: Some(index),
            progress,
            task,
            since,
            thread: lease.thread().map(OsThread::describe),
            is_same_poll: true,
        });
    }

    /// Lists the tasks that are in no worker's list.
    fn walk_shared(&self, walked: &mut Walked) {
        let walk = ListWalk::new();
        walk.request();
        while walk.is_requested() {
            walk.step(&mut |visit| visit(&mut self.shared_tasks.lock().tasks));
        }
        walk.finish(&mut walked.tasks);
        let mut detached = Vec::new();
        let shared_tasks = self.shared_tasks.lock();
        for other in &shared_tasks.detached {
            // SAFETY: a detached task is removed from `detached` under this lock before it is
            // released.
            detached.push((unsafe { Retained::new(other.task) }, other.revoked.clone()));
        }
        drop(shared_tasks);
        for (task, revoked) in detached {
            if let Some(lease) = revoked {
                walked.stuck.push(StuckThread {
                    runtime: self.info.id.get(),
                    worker: None,
                    progress: 0,
                    task: Some(task.id().as_u64()),
                    since: lease.stuck_since(),
                    thread: lease.thread().map(OsThread::describe),
                    is_same_poll: true,
                });
            }
            walked.tasks.push(task);
        }
    }

    /// Returns the number of tasks in queues, as far as it is known.
    pub(crate) fn queued_len(&self) -> usize {
        let own: usize = self.workers.iter().map(|worker| worker.queue.len()).sum();
        own + self.inject.len()
    }

    /// Returns the number of polls that all workers have made.
    pub(crate) fn poll_count(&self) -> u64 {
        self.workers.iter().map(|worker| worker.metrics.polls.get()).sum()
    }

    /// Returns whether no thread runs the worker.
    pub(crate) fn is_vacant(&self, worker: usize) -> bool {
        self.workers[worker].lease_slot.holder().is_none()
    }

    /// Returns how long a poll of the worker takes in the mean; zero if that is not known.
    pub(crate) fn mean_poll_ns(&self, worker: usize) -> u64 {
        self.workers[worker].poll_estimate.ns()
    }

    /// Returns whether all workers have been told to stop.
    pub(crate) fn is_shut_down(&self) -> bool {
        self.is_stopping()
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "census/tests/loom.rs"]
mod loom;
