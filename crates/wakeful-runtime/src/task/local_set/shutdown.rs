//! The shutdown of a `LocalSet`: the owning thread drops every task.
//!
//! A task is in one of these states:
//!
//! 1. In the local or the remote queue: it is taken out and cancelled.
//! 2. In the list, waiting: it is claimed and cancelled.
//! 3. In the list, but just woken by another thread that has not pushed the entry yet: the shutdown
//!    waits for the entry. Between the wake-up and the push that thread runs no user code, so the
//!    wait is short.
//! 4. Being polled further up on this thread's stack, if that poll led to the shutdown: it is
//!    cancelled when the poll returns.
//!
//! When no task is left, no wake-up can push an entry any more, so the remote queue need not be
//! closed.

use super::owner::Owner;
use wakeful_task::{Runnable, RunningTask, TaskRef};

enum Found {
    Queued(Runnable),
    Waiting(RunningTask),
    /// The task has been woken, and another thread is about to push its entry.
    BeingQueued,
    BeingPolled(TaskRef),
    Nothing,
}

impl Owner {
    /// Drops every task. Tasks that are spawned meanwhile or later are cancelled immediately.
    pub(super) fn drop_all(&self) {
        self.with_core(|core| core.is_closed = true);
        let mut being_polled = Vec::new();
        loop {
            match self.find_any() {
                Found::Queued(runnable) => self.end(runnable.cancel()),
                Found::Waiting(running) => self.end(running.cancel()),
                Found::BeingQueued => std::thread::yield_now(),
                Found::BeingPolled(task) => being_polled.push(task),
                Found::Nothing => break,
            }
        }
        // The vector is freed after the borrow of the core. If the allocator woke a task of the set
        // while the core is borrowed, the entry would go to the remote queue, which is not polled
        // any more.
        self.with_core(|core| {
            for &task in &being_polled {
                // SAFETY: `find_any` has taken the task out of the list, so it is in none. It is
                // alive, since its poll has not returned, and `end` removes it again before it is
                // freed.
                unsafe { core.owned.push_back(task) };
            }
        });
    }

    fn find_any(&self) -> Found {
        self.with_core(|core| {
            let queued = core.queue.pop_front().or_else(|| self.tasks.remote.pop());
            if let Some(runnable) = queued {
                return Found::Queued(runnable);
            }
            let Some(task) = core.owned.pop_front() else { return Found::Nothing };
            // SAFETY: a task in the list is alive: `end` removes it before completing it.
            // `push_back` gets a task that has just been taken out of the list.
            unsafe {
                if let Some(running) = RunningTask::claim_idle(task) {
                    return Found::Waiting(running);
                }
                if core.polling.contains(&task) {
                    return Found::BeingPolled(task);
                }
                core.owned.push_back(task);
            }
            Found::BeingQueued
        })
    }
}
