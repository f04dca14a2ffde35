//! How a census reaches all tasks of a current-thread scheduler that have waited before.
//!
//! While a thread drives the scheduler, that thread makes the steps of the walk (`drive.rs`). If no
//! thread does, the census makes them, with the lock of the core's slot. If the driving thread is
//! stuck in user code, the walk stays incomplete. The task in which it is stuck is found by a copy
//! of its header: see [`Header::copy_of`].

use super::CurrentThread;
use crate::task_walk::NEW_TASKS_MAX;
use std::panic::Location;
use wakeful_base::sync::atomic::Ordering::Acquire;
use wakeful_task::{Header, Retained, TaskRef};

/// What drives a current-thread scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drive {
    /// A thread, in `block_on`.
    Thread,
    /// No thread: the tasks do not run.
    AtRest,
    /// The scheduler has shut down.
    Stopped,
}

impl CurrentThread {
    /// Requests a walk over the list of tasks.
    pub(crate) fn begin_walk(&self) {
        self.walk.request();
        self.wake_driver();
    }

    /// Makes the steps if no thread drives the scheduler. Returns whether the walk is done.
    pub(crate) fn advance_walk(&self) -> bool {
        while self.walk.is_requested() {
            let mut has_stepped = false;
            self.walk.step(&mut |visit| {
                if let Some(free) = &mut self.core_slot.lock().core {
                    visit(&mut free.core.owned);
                    has_stepped = true;
                }
            });
            if !has_stepped {
                // Again: the thread may have parked just before the request.
                self.wake_driver();
                return false;
            }
        }
        true
    }

    /// Ends the walk. Appends the tasks, some of them more than once, and returns whether these are
    /// all.
    ///
    /// Some of the tasks that have never run are among them, if no thread drives the scheduler.
    pub(crate) fn finish_walk(&self, tasks: &mut Vec<Retained>) -> bool {
        let is_done = self.walk.finish(tasks);
        self.inject.retain_some(NEW_TASKS_MAX, tasks);
        // Before the lock: the allocator may be user code.
        tasks.reserve(NEW_TASKS_MAX);
        if let Some(free) = &self.core_slot.lock().core {
            for runnable in free.core.ready.iter().take(NEW_TASKS_MAX) {
                // SAFETY: the queue entry keeps the task alive.
                tasks.push(unsafe { Retained::new(runnable.task()) });
            }
        }
        is_done
    }

    /// Returns the task that the driving thread polls, the place where it was spawned, and a number
    /// that tells this poll from others. `None` if it polls none, or just stops.
    pub(crate) fn polled_task(&self) -> Option<(u64, &'static Location<'static>, u64)> {
        let polls = self.metrics.polls.get();
        let task = TaskRef::new(self.polling.load(Acquire))?;
        let copy = Header::copy_of(task)?;
        // The task was alive while it was copied if its poll has not ended meanwhile.
        let is_same = self.polling.load(Acquire) == task.as_ptr();
        if !is_same || self.metrics.polls.get() != polls {
            return None;
        }
        // SAFETY: the copy was made from a live task.
        let (id, spawned_at) = unsafe { copy.id_and_site() };
        Some((id, spawned_at, polls))
    }

    /// Returns what drives the scheduler.
    pub(crate) fn drive_state(&self) -> Drive {
        if self.stopped.load(Acquire) {
            return Drive::Stopped;
        }
        match self.core_slot.lock().core {
            Some(_) => Drive::AtRest,
            None => Drive::Thread,
        }
    }

    /// Returns the number of tasks in queues, as far as it is known: not those of a driving thread.
    pub(crate) fn queued_len(&self) -> usize {
        let core_slot = self.core_slot.lock();
        let own = core_slot.core.as_ref().map_or(0, |free| free.core.ready.len());
        drop(core_slot);
        own + self.inject.len()
    }

    /// Returns the number of polls that driving threads have made.
    pub(crate) fn poll_count(&self) -> u64 {
        self.metrics.polls.get()
    }
}
