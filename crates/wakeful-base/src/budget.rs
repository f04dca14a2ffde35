//! The cooperative budget: makes a task yield even if its futures are always ready.
//!
//! Each poll of a task starts with 128 units. A leaf future pays one unit with [`poll_proceed`]
//! before it makes progress. When no units are left, it returns `Pending` even though it could make
//! progress, and the task goes to the back of the queue. Outside a task's poll the budget is
//! unlimited.

#[cfg(feature = "taskdump")]
pub mod trace;

use crate::waiting::{WaitKind, note};
use std::cell::Cell;
use std::marker::PhantomData;
use std::task::{Context, Poll, Waker};

/// The number of units that the current poll may still pay. The largest number means "unlimited".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(u8);

impl Budget {
    /// The budget that a task's poll starts with.
    pub const INITIAL: Budget = Budget(128);
    /// No limit.
    pub const UNCONSTRAINED: Budget = Budget(u8::MAX);

    /// No units: leaf futures yield.
    #[cfg(feature = "taskdump")]
    const NONE: Budget = Budget(0);

    fn is_unconstrained(self) -> bool {
        self == Budget::UNCONSTRAINED
    }
}

/// A function that postpones a wake-up until the runtime has polled I/O and timers.
///
/// Returns false if it cannot; the caller then wakes the task at once.
pub type DeferWake = fn(&Waker) -> bool;

crate::per_thread! {
    static BUDGET: Cell<Budget> = const { Cell::new(Budget::UNCONSTRAINED) };
}

crate::per_thread! {
    static DEFER: Cell<Option<DeferWake>> = const { Cell::new(None) };
}

/// Runs `f` with the budget of a fresh poll, then restores the previous budget.
#[inline]
pub fn with_initial<R>(f: impl FnOnce() -> R) -> R {
    let _restore = replace(Budget::INITIAL);
    f()
}

/// Runs `f` without a limit, then restores the previous budget.
#[inline]
pub fn with_unconstrained<R>(f: impl FnOnce() -> R) -> R {
    let _restore = replace(Budget::UNCONSTRAINED);
    f()
}

/// Sets the thread's budget until the guard is dropped.
#[must_use]
#[inline]
pub fn replace(budget: Budget) -> RestoreBudget {
    RestoreBudget { before: BUDGET.with(|cell| cell.replace(budget)), _not_send: PhantomData }
}

/// Refills the budget to that of a fresh poll.
#[inline]
pub fn refill() {
    BUDGET.with(|cell| cell.set(Budget::INITIAL));
}

/// Restores an earlier budget when dropped.
#[derive(Debug)]
pub struct RestoreBudget {
    before: Budget,
    _not_send: PhantomData<*const ()>,
}

impl Drop for RestoreBudget {
    #[inline]
    fn drop(&mut self) {
        BUDGET.with(|cell| cell.set(self.before));
    }
}

/// Returns whether a leaf future may still make progress in this poll.
#[inline]
pub fn has_remaining() -> bool {
    BUDGET.with(|cell| cell.get().0 > 0)
}

/// Pays one unit. Returns `None` if no units are left.
///
/// The guard restores the unit when dropped, unless
/// [`made_progress`](RestoreOnPending::made_progress) was called.
#[inline]
pub fn proceed() -> Option<RestoreOnPending> {
    let before = BUDGET.with(Cell::get);
    if !before.is_unconstrained() {
        let rest = Budget(before.0.checked_sub(1)?);
        BUDGET.with(|cell| cell.set(rest));
    }
    Some(RestoreOnPending { before: Cell::new(before), _not_send: PhantomData })
}

/// Pays one unit of the current poll's budget, for a future that is about to make progress.
///
/// Returns `Pending` if no units are left. The caller must then return `Pending` too: its task is
/// woken after the runtime has attended to its other work. Otherwise returns a guard that restores
/// the unit when dropped, unless [`made_progress`](RestoreOnPending::made_progress) was called.
///
/// ```
/// use std::future::poll_fn;
/// use std::task::{Poll, ready};
/// use wakeful::task::coop::poll_proceed;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut queue = vec![1, 2, 3];
/// let last = poll_fn(|cx| {
///     let unit = ready!(poll_proceed(cx));
///     let Some(number) = queue.pop() else { return Poll::Pending };
///     unit.made_progress();
///     Poll::Ready(number)
/// });
/// assert_eq!(last.await, 3);
/// # });
/// ```
#[inline]
pub fn poll_proceed(cx: &mut Context<'_>) -> Poll<RestoreOnPending> {
    match proceed() {
        Some(unit) => Poll::Ready(unit),
        None => {
            wait_for_turn(cx.waker());
            Poll::Pending
        }
    }
}

/// Notes that the task waits for its next turn, and arranges for that.
#[cold]
fn wait_for_turn(waker: &Waker) {
    #[cfg(feature = "taskdump")]
    trace::reach_leaf();
    note(WaitKind::Turn, 0, waker);
    defer(waker);
}

/// Returns `Pending` and arranges for a wake-up if the budget is used up. Pays nothing.
#[inline]
pub fn poll_has_remaining(cx: &mut Context<'_>) -> Poll<()> {
    if has_remaining() {
        return Poll::Ready(());
    }
    // The caller is no leaf. Its parts are.
    #[cfg(feature = "taskdump")]
    if trace::is_tracing() {
        return Poll::Ready(());
    }
    wait_for_turn(cx.waker());
    Poll::Pending
}

/// Returns `Pending` and arranges for a wake-up if the poll is traced (feature `taskdump`).
///
/// For leaf futures that take no part in cooperative scheduling. The others need no such call: a
/// traced poll has no budget.
#[inline]
pub fn poll_traced(cx: &mut Context<'_>) -> Poll<()> {
    #[cfg(feature = "taskdump")]
    if !has_remaining() && trace::is_tracing() {
        wait_for_turn(cx.waker());
        return Poll::Pending;
    }
    _ = cx;
    Poll::Ready(())
}

/// A guard that restores a unit of the budget when dropped, unless progress was made.
///
/// ```
/// use std::future::poll_fn;
/// use std::task::{Poll, ready};
/// use wakeful::task::coop::{RestoreOnPending, has_budget_remaining, poll_proceed};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = wakeful::spawn(poll_fn(|cx| {
///     for _ in 0..1000 {
///         let unit: RestoreOnPending = ready!(poll_proceed(cx));
///         drop(unit); // no progress was made, so the unit is restored
///     }
///     Poll::Ready(has_budget_remaining())
/// }));
/// assert!(task.await.unwrap());
/// # });
/// ```
#[derive(Debug)]
#[must_use]
pub struct RestoreOnPending {
    before: Cell<Budget>,
    _not_send: PhantomData<*const ()>,
}

impl RestoreOnPending {
    /// Keeps the unit spent, because the future made progress.
    #[inline]
    pub fn made_progress(&self) {
        self.before.set(Budget::UNCONSTRAINED);
    }
}

impl Drop for RestoreOnPending {
    #[inline]
    fn drop(&mut self) {
        let before = self.before.get();
        if !before.is_unconstrained() {
            BUDGET.with(|cell| cell.set(before));
        }
    }
}

/// Wakes `waker` after the runtime has attended to its other work, or at once outside a runtime.
pub fn defer(waker: &Waker) {
    if !try_defer(waker) {
        waker.wake_by_ref();
    }
}

/// Wakes `waker` after the runtime has attended to its other work.
///
/// Returns false and does not wake it if this thread drives no runtime.
#[must_use]
pub fn try_defer(waker: &Waker) -> bool {
    DEFER.with(Cell::get).is_some_and(|postpone| postpone(waker))
}

/// Sets the function that postpones wake-ups on this thread. Returns the previous one.
pub fn set_defer(postpone: Option<DeferWake>) -> Option<DeferWake> {
    DEFER.with(|cell| cell.replace(postpone))
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    fn proceed() -> Poll<RestoreOnPending> {
        poll_proceed(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_budget_runs_out_after_128_units_and_is_restored() {
        with_initial(|| {
            for _ in 0..128 {
                assert!(has_remaining());
                let Poll::Ready(unit) = proceed() else { panic!("budget ended early") };
                unit.made_progress();
            }
            assert!(!has_remaining());
            assert!(proceed().is_pending());
            with_unconstrained(|| assert!(proceed().is_ready()));
            assert!(proceed().is_pending());
        });
        assert!(proceed().is_ready());
    }

    #[test]
    fn a_unit_without_progress_is_restored() {
        with_initial(|| {
            for _ in 0..1000 {
                assert!(proceed().is_ready());
            }
        });
    }

    #[test]
    fn a_panic_restores_the_old_budget() {
        let caught = std::panic::catch_unwind(|| with_initial(|| panic!("boom")));
        assert!(caught.is_err());
        assert_eq!(BUDGET.with(Cell::get), Budget::UNCONSTRAINED);
    }
}
