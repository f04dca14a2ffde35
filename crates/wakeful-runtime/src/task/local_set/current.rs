//! The current `LocalSet` of a thread, to which `spawn_local` adds tasks.

use super::owner::Owner;
use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::rc::Rc;

thread_local! {
    // Has no destructor (`ManuallyDrop`), so that it still works when the thread ends and a
    // `LocalSet` in another thread-local is dropped.
    static CURRENT: Cell<Option<ManuallyDrop<Rc<Owner>>>> = const { Cell::new(None) };

    static CLEAR_ON_EXIT: ClearOnExit = const { ClearOnExit };
}

/// A thread-local whose destructor releases a set that is still current when the thread ends.
///
/// That happens if guards were dropped out of order.
struct ClearOnExit;

impl Drop for ClearOnExit {
    fn drop(&mut self) {
        drop(replace(None));
    }
}

/// Returns the set that the calling thread is in.
pub(super) fn current() -> Option<Rc<Owner>> {
    let found = replace(None);
    replace(found.clone());
    found
}

/// Makes `owner`'s set the current one until the guard is dropped. Guards must be dropped in order.
pub(super) fn enter(owner: Rc<Owner>) -> LocalEnterGuard {
    LocalEnterGuard { before: replace(Some(owner)) }
}

/// Makes `owner`'s set the current one, with a guard that need not be dropped in order.
pub(super) fn enter_unordered(owner: Rc<Owner>) -> LocalEnterGuard {
    // Fails if the thread is ending. Guards dropped out of order then leak the set's memory.
    let _is_ending = CLEAR_ON_EXIT.try_with(|_| ());
    enter(owner)
}

fn replace(new: Option<Rc<Owner>>) -> Option<Rc<Owner>> {
    CURRENT.replace(new.map(ManuallyDrop::new)).map(ManuallyDrop::into_inner)
}

/// A guard that keeps the thread in a `LocalSet`'s context until it is dropped.
///
/// It is returned by [`LocalSet::enter`](super::LocalSet::enter). Dropping it makes the set current
/// again that was current when the guard was created.
///
/// ```
/// use std::rc::Rc;
/// use wakeful::task::{self, LocalSet};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let local = LocalSet::new();
/// let inside = local.enter();
/// let word = Rc::new("here");
/// let task = task::spawn_local(async move { word.len() }); // runs when the set is driven
/// drop(inside);
/// assert_eq!(local.run_until(task).await.unwrap(), 4);
/// # });
/// ```
pub struct LocalEnterGuard {
    before: Option<Rc<Owner>>,
}

impl Drop for LocalEnterGuard {
    fn drop(&mut self) {
        drop(replace(self.before.take()));
    }
}

impl fmt::Debug for LocalEnterGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEnterGuard").finish()
    }
}
