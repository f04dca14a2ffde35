//! Which `LocalSet` a thread's `spawn_local` goes to.

use super::owner::Owner;
use std::cell::Cell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::rc::Rc;

thread_local! {
    // Without a destructor, so that a `LocalSet` in another thread-local finds it in working order
    // when the thread ends.
    static CURRENT: Cell<Option<ManuallyDrop<Rc<Owner>>>> = const { Cell::new(None) };

    static CLEAR_ON_EXIT: ClearOnExit = const { ClearOnExit };
}

/// Lets go, when the thread ends, of a set that guards dropped out of order have left behind.
struct ClearOnExit;

impl Drop for ClearOnExit {
    fn drop(&mut self) {
        drop(replace(None));
    }
}

/// The set that the calling thread is in.
pub(super) fn current() -> Option<Rc<Owner>> {
    let found = replace(None);
    replace(found.clone());
    found
}

/// Puts the thread into `owner`'s set until the guard is dropped.
pub(super) fn enter(owner: Rc<Owner>) -> LocalEnterGuard {
    LocalEnterGuard { before: replace(Some(owner)) }
}

/// As [`enter`], for a guard that need not be dropped in order.
pub(super) fn enter_unordered(owner: Rc<Owner>) -> LocalEnterGuard {
    // Too late for a sweep when the thread is ending; nothing but memory is lost then.
    let _is_ending = CLEAR_ON_EXIT.try_with(|_| ());
    enter(owner)
}

fn replace(new: Option<Rc<Owner>>) -> Option<Rc<Owner>> {
    CURRENT.replace(new.map(ManuallyDrop::new)).map(ManuallyDrop::into_inner)
}

/// Keeps the thread in a [`LocalSet`](super::LocalSet)'s context until dropped. From
/// [`LocalSet::enter`](super::LocalSet::enter).
///
/// ```
/// use std::rc::Rc;
/// use wakeful::task::{self, LocalSet};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let local = LocalSet::new();
/// let inside = local.enter();
/// let word = Rc::new("here");
/// let task = task::spawn_local(async move { word.len() }); // begins when the set is driven
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
