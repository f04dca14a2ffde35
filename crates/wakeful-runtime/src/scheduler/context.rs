//! Which runtime the calling thread is in, and whether the thread drives it.

use super::{SchedulerHandle, current_thread, multi_thread};
use crate::rng_seed::Seeds;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::rc::Rc;
use std::task::Waker;
use wakeful_base::budget::{DeferWake, set_defer};
use wakeful_base::enter::{Entered, EnteredGuard, entered, set_entered};
use wakeful_base::rng::{self, SeededThread};

struct Current {
    // An `Rc`, so that a caller can hold on to it while user code enters and leaves other runtimes,
    // without touching the count that all threads share.
    handle: RefCell<Option<Rc<SchedulerHandle>>>,
    depth: Cell<usize>,
}

wakeful_base::per_thread! {
    static CURRENT: Current = const { Current { handle: RefCell::new(None), depth: Cell::new(0) } };
}

/// Why a thread has no current runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoCurrent {
    NotEntered,
    ThreadEnds,
}

/// Calls `f` with the runtime that this thread is in.
pub(crate) fn with_current<R>(f: impl FnOnce(&SchedulerHandle) -> R) -> Result<R, NoCurrent> {
    let found = CURRENT.try_with(|current| current.handle.borrow().clone());
    match found {
        Ok(Some(handle)) => Ok(f(&handle)),
        Ok(None) => Err(NoCurrent::NotEntered),
        Err(_) => Err(NoCurrent::ThreadEnds),
    }
}

/// Makes `handle` the runtime that this thread is in, until the guard is dropped.
///
/// # Panics
/// Panics if the thread is ending and its thread-locals are being destroyed.
#[track_caller]
pub(crate) fn set_current(handle: &SchedulerHandle) -> CurrentGuard {
    // Allocates before the cell is borrowed: a global allocator may ask for the current runtime.
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

/// Restores the thread's previous runtime when dropped.
pub(crate) struct CurrentGuard {
    before: Option<Rc<SchedulerHandle>>,
    depth: usize,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: a shared reference to a guard gives no access to its fields. Only the drop uses them, and
// since a guard is not `Send`, it is dropped on the thread that made it.
unsafe impl Sync for CurrentGuard {}

impl Drop for CurrentGuard {
    fn drop(&mut self) {
        // A thread whose thread-locals are destroyed has nothing to restore.
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
            // After the borrow has ended: this may be the last reference to the runtime, whose drop
            // runs user code.
            drop(left);
        });
    }
}

/// Marks this thread as driving a runtime until dropped.
pub(crate) struct Driving {
    _current: CurrentGuard,
    _entered: EnteredGuard,
    _seeded: Option<SeededThread>,
}

/// Marks this thread as driving `handle`'s runtime, until the guard is dropped. `call` names the
/// function for the panic message.
///
/// # Panics
/// Panics if this thread drives a runtime already, and so must not block.
#[track_caller]
pub(crate) fn drive(handle: &SchedulerHandle, mark: Entered, call: &str) -> Driving {
    if entered() != Entered::No {
        // Tokio's tests and some programs match on the sentences in the middle.
        panic!(
            "`{call}` called on a thread that is driving a runtime already. Cannot start a runtime \
             from within a runtime. This happens because a function (like `block_on`) attempted to \
             block the current thread while the thread is being used to drive asynchronous tasks. If \
             you are in an async function, use `.await` on the future instead of blocking on it. In \
             synchronous code called from one, use `task::block_in_place` around it, or \
             `task::spawn_blocking`"
        );
    }
    let seed_thread = |seeds: &Seeds| rng::seed_thread(seeds.next());
    Driving {
        _current: set_current(handle),
        _entered: set_entered(mark),
        _seeded: handle.info().seeds.as_ref().map(seed_thread),
    }
}

/// Lets tasks that yield on this thread wait for the next look at the driver, until the guard is
/// dropped.
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
