//! The task that the calling thread is running.

use crate::id::Id;
use wakeful_base::threads::THREAD_ID;
use wakeful_base::waiting::{self, WaitSlot};

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
    let id = waiting::with_current(|slot| slot.map_or(0, WaitSlot::id));
    if id & THREAD_ID == 0 { Id::from_u64(id) } else { None }
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
