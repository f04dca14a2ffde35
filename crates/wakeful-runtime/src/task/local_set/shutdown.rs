//! How a `LocalSet` ends: its thread drops every task.
//!
//! A task is in one of these places, and each is looked at:
//!
//! 1. in the local or the remote queue: taken out and cancelled;
//! 2. in the list of those that wait: claimed and cancelled;
//! 3. in the list, but woken by another thread whose entry has not arrived yet: waited for. Between the
//!    wake and the push that thread does nothing that could take long;
//! 4. further up on our own stack, if its poll led to this. It is cancelled when the poll returns.
//!
//! With no task left nothing can be woken any more, so that the remote queue need not be closed.

use super::owner::Owner;
use wakeful_task::{Runnable, Running, TaskRef};

enum Found {
    Queued(Runnable),
    Waiting(Running),
    /// Its entry is on the way.
    BeingQueued,
    BeingPolled(TaskRef),
    Nothing,
}

impl Owner {
    /// Drops every task. Those that are spawned later, or meanwhile, are cancelled at once.
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
        // The list's memory goes after the borrow: an allocator that wakes a task of the set while the
        // core is borrowed would leave it in the remote queue, at which nothing looks any more.
        self.with_core(|core| {
            for &task in &being_polled {
                // SAFETY: it was in the list, is alive as long as its poll lasts, and is in none now.
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
            // SAFETY: what is in the list is alive.
            unsafe {
                if let Some(running) = Running::claim_idle(task) {
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
