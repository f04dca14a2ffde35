//! A handle that can abort a task and do nothing else.

use crate::header::{Header, TaskRef, release};
use crate::id::Id;
use crate::waker::perform;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// A handle that can abort a task, but not await it.
///
/// Returned by [`JoinHandle::abort_handle`](crate::JoinHandle::abort_handle) and the spawning
/// methods of `JoinSet`. Dropping it has no effect on the task.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = wakeful::spawn(std::future::pending::<()>());
/// let stop = task.abort_handle();
/// wakeful::spawn(async move { stop.abort() });
/// assert!(task.await.unwrap_err().is_cancelled());
/// # });
/// ```
pub struct AbortHandle {
    task: TaskRef,
}

// SAFETY: the handle is a counted reference. It accesses the state word, which is atomic, and the
// id, which is never written. An abort may schedule the task, and releasing the last reference
// frees a cell without future and output; `Schedule` allows both on any thread.
unsafe impl Send for AbortHandle {}
// SAFETY: as above.
unsafe impl Sync for AbortHandle {}

impl UnwindSafe for AbortHandle {}
impl RefUnwindSafe for AbortHandle {}

impl AbortHandle {
    /// # Safety
    /// `task` must be alive.
    pub(crate) unsafe fn new(task: TaskRef) -> AbortHandle {
        // SAFETY: by contract.
        unsafe { task.as_ref() }.state.retain();
        AbortHandle { task }
    }

    /// Aborts the task: its future is dropped instead of being polled again.
    ///
    /// A poll that is in progress is not interrupted. The abort has no effect on a task that has
    /// finished, on one that finishes in the current poll, or on the closure of a `spawn_blocking`
    /// that has started.
    pub fn abort(&self) {
        // SAFETY: our reference keeps the task alive.
        unsafe { abort(self.task) };
    }

    /// Returns whether the task has finished, been cancelled or panicked.
    pub fn is_finished(&self) -> bool {
        self.header().state.is_complete()
    }

    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.header().id()
    }

    fn header(&self) -> &Header {
        // SAFETY: our reference keeps the task alive.
        unsafe { self.task.as_ref() }
    }
}

/// # Safety
/// The caller must hold a reference to `task`.
pub(crate) unsafe fn abort(task: TaskRef) {
    // SAFETY: the caller's reference keeps the task alive, and the action comes from its state
    // word.
    unsafe { perform(task, task.as_ref().state.abort()) };
}

impl Clone for AbortHandle {
    fn clone(&self) -> AbortHandle {
        // SAFETY: our reference keeps the task alive.
        unsafe { AbortHandle::new(self.task) }
    }
}

impl Drop for AbortHandle {
    fn drop(&mut self) {
        // SAFETY: releases this handle's own reference, which is not used afterwards.
        unsafe { release(self.task) };
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("id", &self.id()).finish()
    }
}
