//! Which runtime a thread's spawns go to, and which one it drives.

use super::{SchedulerHandle, current_thread, multi_thread};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::task::Waker;
use wakeful_base::budget::{DeferWake, set_defer};
use wakeful_base::enter::{Entered, EnteredGuard, entered, set_entered};

struct Current {
    // An `Rc`, so that a caller can hold on to it while user code enters and leaves other runtimes,
    // without touching the count that all threads share.
    handle: RefCell<Option<Rc<SchedulerHandle>>>,
    depth: Cell<usize>,
}

wakeful_base::per_thread! {
    static CURRENT: Current = const { Current { handle: RefCell::new(None), depth: Cell::new(0) } };
}

/// Why there is no current runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCurrent {
    NotEntered,
    ThreadEnds,
}

/// Calls `f` with the runtime this thread is in.
pub(crate) fn with_current<R>(f: impl FnOnce(&SchedulerHandle) -> R) -> Result<R, NoCurrent> {
    let found = CURRENT.try_with(|current| current.handle.borrow().clone());
    match found {
        Ok(Some(handle)) => Ok(f(&handle)),
        Ok(None) => Err(NoCurrent::NotEntered),
        Err(_) => Err(NoCurrent::ThreadEnds),
    }
}

/// Makes `handle` the runtime this thread is in, until the guard is dropped.
///
/// # Panics
/// While the thread's locals are being destroyed.
#[track_caller]
pub(crate) fn set_current(handle: &SchedulerHandle) -> CurrentGuard {
    // Before the cell is borrowed: an allocator may ask which runtime it is in.
    let handle = Rc::new(handle.clone());
    let set = CURRENT.try_with(|current| {
        let before = current.handle.borrow_mut().replace(handle);
        current.depth.set(current.depth.get() + 1);
        CurrentGuard { before, depth: current.depth.get(), _not_send: PhantomData }
    });
    set.unwrap_or_else(|_| {
        panic!(
            "a runtime was entered on a thread that is ending (from the destructor of a \
             thread-local); enter it earlier, or spawn through a `Handle` instead"
        )
    })
}

/// Puts the runtime the thread was in before back in place.
pub(crate) struct CurrentGuard {
    before: Option<Rc<SchedulerHandle>>,
    depth: usize,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a reference to a guard gives no access to what is in it; only dropping the guard does,
// and that happens on the thread that made it, since a guard is not `Send`.
unsafe impl Sync for CurrentGuard {}

impl Drop for CurrentGuard {
    fn drop(&mut self) {
        // A thread whose locals are gone has nothing to put back.
        let _gone = CURRENT.try_with(|current| {
            if current.depth.get() != self.depth {
                if !std::thread::panicking() {
                    panic!(
                        "`EnterGuard` values dropped out of order: guards returned by \
                         `Handle::enter()` and `Runtime::enter()` must be dropped in the reverse \
                         order of their making"
                    );
                }
                return;
            }
            let left = std::mem::replace(&mut *current.handle.borrow_mut(), self.before.take());
            current.depth.set(self.depth - 1);
            // Outside of the borrow: it may be the last reference to the runtime.
            drop(left);
        });
    }
}

/// Marks this thread as driving a runtime.
pub(crate) struct Driving {
    _current: CurrentGuard,
    _entered: EnteredGuard,
}

/// Marks this thread as driving `handle`'s runtime, until the guard is dropped.
///
/// # Panics
/// If it drives one already: `call` must not block then.
#[track_caller]
pub(crate) fn drive(handle: &SchedulerHandle, mark: Entered, call: &str) -> Driving {
    if entered() != Entered::No {
        // The middle is in Tokio's words, which programs and its tests look for.
        panic!(
            "`{call}` called on a thread that is driving a runtime already. Cannot start a runtime \
             from within a runtime. This happens because a function (like `block_on`) attempted to \
             block the current thread while the thread is being used to drive asynchronous tasks. If \
             you are in an async function, use `.await` on the future instead of blocking on it. In \
             synchronous code called from one, use `task::block_in_place` around it, or \
             `task::spawn_blocking`"
        );
    }
    Driving { _current: set_current(handle), _entered: set_entered(mark) }
}

/// Lets `yield_now` and an exhausted budget wait for a look at the driver on this thread.
pub(crate) fn allow_defer() -> AllowDefer {
    AllowDefer(set_defer(Some(defer)))
}

pub(crate) struct AllowDefer(Option<DeferWake>);

impl Drop for AllowDefer {
    fn drop(&mut self) {
        set_defer(self.0);
    }
}

fn defer(waker: &Waker) -> bool {
    entered() != Entered::No && (multi_thread::defer(waker) || current_thread::defer(waker))
}
