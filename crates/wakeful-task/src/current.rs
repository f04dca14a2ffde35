//! The task that the calling thread is running.

use crate::header::{Header, TaskRef};
use crate::id::Id;
use crate::wait::{WaitKind, WaitsFor};
use std::cell::Cell;
use std::ptr;

wakeful_base::per_thread! {
    static CURRENT: Cell<*const Header> = const { Cell::new(ptr::null()) };
}

/// Makes a task the current one until the guard is dropped.
pub(crate) struct CurrentGuard {
    before: *const Header,
}

impl CurrentGuard {
    /// # Safety
    /// The task must outlive the guard.
    #[inline]
    pub(crate) unsafe fn enter(task: TaskRef) -> CurrentGuard {
        CurrentGuard { before: CURRENT.with(|current| current.replace(task.as_ptr())) }
    }
}

impl Drop for CurrentGuard {
    #[inline]
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

#[inline]
pub(crate) fn with_current<R>(f: impl FnOnce(Option<&Header>) -> R) -> R {
    let current = CURRENT.with(Cell::get);
    // SAFETY: `CURRENT` is set only while a `CurrentGuard` exists on this thread's stack, whose
    // creator keeps the task alive.
    f(unsafe { current.as_ref() })
}

/// Returns the id of the task that is running on this thread, if any.
///
/// ```
/// use wakeful::task;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// assert_eq!(task::try_id(), None); // `block_on`, no task
/// let task = wakeful::spawn(async { task::try_id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), Some(id));
/// # });
/// ```
pub fn try_id() -> Option<Id> {
    with_current(|task| task.map(Header::id))
}

/// Returns the id of the task that is running on this thread.
///
/// # Panics
/// Panics if called outside a task. The future passed to `block_on` is not a task.
///
/// ```
/// use wakeful::task;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = wakeful::spawn(async { task::id() });
/// let id = task.id();
/// assert_eq!(task.await.unwrap(), id);
/// # });
/// ```
#[track_caller]
pub fn id() -> Id {
    try_id().expect(
        "`task::id()` called outside of a task; only spawned tasks have an id (the future given to \
         `block_on` has none): use `task::try_id()` where there may be none",
    )
}

/// Records what the current task is about to wait for.
///
/// Leaf futures call this before they return `Pending`. It does nothing outside a task and while a
/// task's output is being dropped.
#[inline]
pub fn note_wait(kind: WaitKind, detail: u64) {
    with_current(|task| {
        // While a task's output is being dropped, the task is current but complete. A queue of
        // complete tasks may be using its link.
        if let Some(task) = task.filter(|task| !task.state.is_complete()) {
            task.set_waits_for(WaitsFor::new(kind, detail));
        }
    });
}
