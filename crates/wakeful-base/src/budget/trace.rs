//! Tracing of leaf futures, for Tokio's task dumps: a callback for each leaf that a poll reaches.
//!
//! Every leaf future asks for a unit of the [budget](super) before it makes progress, and yields if
//! there is none. A traced poll has none: so leaves need no code of their own. Each leaf calls the
//! callback, has its task woken after the poll, and returns `Pending`. A future that takes permits
//! may have taken them by then, and completes in the next poll.
//!
//! Parts of the poll that have a budget of their own are not traced, and make progress as always:
//! futures in `unconstrained`, tasks of a `LocalSet`, another `block_on`.

use super::{Budget, replace};
use std::cell::Cell;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr;

/// What the callback of [`trace_with`] is told about a leaf: between which functions of the call
/// stack the program's own are.
///
/// ```
/// use std::{pin::pin, future::Future, task::Poll};
/// use wakeful::runtime::dump::{Trace, TraceMeta, trace_with};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut yields = pin!(wakeful::task::yield_now());
/// let mut has_root = false;
/// Trace::root(std::future::poll_fn(|cx| {
///     let poll = || yields.as_mut().poll(cx).is_pending();
///     assert!(trace_with(poll, |meta: &TraceMeta| has_root |= meta.root_addr.is_some()));
///     Poll::Ready(())
/// }))
/// .await;
/// assert!(has_root);
/// # });
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct TraceMeta {
    /// The function that polls the innermost `Root` around the leaf, if there is one: the stack of
    /// the task ends there.
    pub root_addr: Option<*const c_void>,
    /// The function that has called the callback. The frames inside it belong to the tracing.
    pub trace_leaf_addr: *const c_void,
}

/// A callback without its type.
#[derive(Clone, Copy)]
struct Callback {
    data: *mut (),
    /// Called with `data`, which must not be in use otherwise.
    call: unsafe fn(*mut (), &TraceMeta),
}

crate::per_thread! {
    /// The callback of the innermost traced poll. `None` while it runs.
    static CALLBACK: Cell<Option<Callback>> = const { Cell::new(None) };
}

crate::per_thread! {
    /// The function that polls the innermost `Root`, or null.
    static ROOT: Cell<*const c_void> = const { Cell::new(ptr::null()) };
}

/// Restores the outer callback when dropped.
struct RestoreCallback(Option<Callback>);

impl Drop for RestoreCallback {
    fn drop(&mut self) {
        CALLBACK.with(|callback| callback.set(self.0));
    }
}

/// Runs `f`, usually a poll of a future, and calls `trace_leaf` for each leaf future that it
/// reaches.
///
/// Such a leaf returns `Pending`. Its task is woken when the scheduler regains control, so that it
/// is polled again outside `trace_with`; there it makes progress. Futures in `unconstrained` and
/// the tasks of a `LocalSet` are not traced.
///
/// ```
/// use std::{future::Future, mem::replace, pin::pin};
/// use wakeful::runtime::dump::trace_with;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut yields = pin!(wakeful::task::yield_now());
/// let (mut is_traced, mut leaves) = (false, 0);
/// std::future::poll_fn(|cx| {
///     if replace(&mut is_traced, true) {
///         return yields.as_mut().poll(cx);
///     }
///     trace_with(|| yields.as_mut().poll(cx), |_| leaves += 1)
/// })
/// .await;
/// assert_eq!(leaves, 1);
/// # });
/// ```
pub fn trace_with<FN, FT, R>(f: FN, mut trace_leaf: FT) -> R
where
    FN: FnOnce() -> R,
    FT: FnMut(&TraceMeta),
{
    /// # Safety
    /// `data` must point to a `F` that is not in use.
    unsafe fn call<F: FnMut(&TraceMeta)>(data: *mut (), meta: &TraceMeta) {
        // SAFETY: by contract.
        unsafe { (*data.cast::<F>())(meta) }
    }

    let callback = Callback { data: (&raw mut trace_leaf).cast(), call: call::<FT> };
    let _restore = RestoreCallback(CALLBACK.with(|before| before.replace(Some(callback))));
    let _budget = replace(Budget::NONE);
    f()
}

/// Returns whether this thread is in a call of [`trace_with`].
pub fn is_tracing() -> bool {
    CALLBACK.with(Cell::get).is_some()
}

/// Calls the callback, if this thread is in a call of [`trace_with`].
///
/// Not inlined: its address tells where the frames of the tracing begin.
#[cold]
#[inline(never)]
pub(super) fn reach_leaf() {
    let Some(callback) = CALLBACK.with(Cell::take) else { return };
    let _restore = RestoreCallback(Some(callback));
    let root = ROOT.with(Cell::get);
    let meta = TraceMeta {
        root_addr: (!root.is_null()).then_some(root),
        trace_leaf_addr: reach_leaf as *const c_void,
    };
    // SAFETY: `trace_with` is running on this thread, so the closure that it has made this of is
    // still there. It is not in use: while it runs, `CALLBACK` is `None`.
    unsafe { (callback.call)(callback.data, &meta) };
}

/// Makes the function at this address the root of traces until dropped.
#[must_use]
pub struct CurrentRoot {
    before: *const c_void,
    _not_send: PhantomData<*const ()>,
}

/// Begins a poll of a `Root` by the function at this address.
pub fn enter_root(function: *const c_void) -> CurrentRoot {
    CurrentRoot { before: ROOT.with(|root| root.replace(function)), _not_send: PhantomData }
}

impl Drop for CurrentRoot {
    fn drop(&mut self) {
        ROOT.with(|root| root.set(self.before));
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
