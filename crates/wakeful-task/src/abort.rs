//! A handle that can abort a task and do nothing else.

use crate::header::{Header, TaskRef, release};
use crate::id::Id;
use crate::waker::perform;
use std::fmt;
use std::panic::{RefUnwindSafe, UnwindSafe};

/// Can abort a task, but not await it.
///
/// From [`JoinHandle::abort_handle`](crate::JoinHandle::abort_handle) or a `JoinSet`. Dropping it does
/// nothing to the task.
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

// SAFETY: a counted reference; everything it does goes through the state word.
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

    /// Aborts the task: its future is dropped when its poll, if one is under way, has returned.
    ///
    /// A task that has ended already, or ends before it notices, is not affected, nor is the closure
    /// of a `spawn_blocking` that has begun.
    pub fn abort(&self) {
        // SAFETY: our reference keeps the task alive.
        unsafe { abort(self.task) };
    }

    /// Whether the task has ended, in whatever way.
    pub fn is_finished(&self) -> bool {
        self.header().state.is_complete()
    }

    /// The task's id.
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
    // SAFETY: by contract.
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
        // SAFETY: our reference is given up.
        unsafe { release(self.task) };
    }
}

impl fmt::Debug for AbortHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortHandle").field("id", &self.id()).finish()
    }
}
