//! The cooperative budget: why an always-ready future yields.
//!
//! A poll begins with 128 units. Every leaf future that could make progress pays one before it does,
//! by [`poll_proceed`]; with none left it returns `Pending` as if it had to wait, and its task goes to
//! the back of the queue. Outside a runtime's poll the budget is without limit.

use std::cell::Cell;
use std::marker::PhantomData;
use std::task::{Context, Poll, Waker};

/// How many units one poll may still pay; the largest number stands for any.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget(u8);

impl Budget {
    /// What a task's poll begins with.
    pub const INITIAL: Budget = Budget(128);
    /// No limit.
    pub const UNCONSTRAINED: Budget = Budget(u8::MAX);

    fn is_unconstrained(self) -> bool {
        self == Budget::UNCONSTRAINED
    }
}

/// How a runtime postpones a wake-up until it has looked at I/O and timers.
///
/// Returns false where it cannot, which makes the caller wake at once.
pub type DeferWake = fn(&Waker) -> bool;

crate::per_thread! {
    static BUDGET: Cell<Budget> = const { Cell::new(Budget::UNCONSTRAINED) };
}

crate::per_thread! {
    static DEFER: Cell<Option<DeferWake>> = const { Cell::new(None) };
}

/// Runs `f` with the budget of a fresh poll, then puts the old one back.
#[inline]
pub fn with_initial<R>(f: impl FnOnce() -> R) -> R {
    let _restore = replace(Budget::INITIAL);
    f()
}

/// Runs `f` without a limit, then puts the old budget back.
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

/// Fills the budget up to that of a fresh poll.
#[inline]
pub fn refill() {
    BUDGET.with(|cell| cell.set(Budget::INITIAL));
}

/// Puts an earlier budget back when dropped.
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

/// How many units this poll has paid, if it began with [`Budget::INITIAL`].
#[inline]
pub fn paid() -> u8 {
    Budget::INITIAL.0.saturating_sub(BUDGET.with(Cell::get).0)
}

/// Whether a leaf future may still make progress in this poll.
#[inline]
pub fn has_remaining() -> bool {
    BUDGET.with(|cell| cell.get().0 > 0)
}

/// Pays one unit, or returns `None` if there is none.
///
/// The guard gives the unit back unless told that there was progress.
#[inline]
pub fn proceed() -> Option<RestoreOnPending> {
    let before = BUDGET.with(Cell::get);
    if !before.is_unconstrained() {
        let rest = Budget(before.0.checked_sub(1)?);
        BUDGET.with(|cell| cell.set(rest));
    }
    Some(RestoreOnPending { before: Cell::new(before), _not_send: PhantomData })
}

/// Pays one unit of the current poll's budget, for a future that is about to do something.
///
/// If there is none left, it is to return `Pending` as well: the task's waker is called after the runtime
/// has looked at its other work. The guard gives the unit back when dropped, unless it was told that there
/// [was progress](RestoreOnPending::made_progress).
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
            defer(cx.waker());
            Poll::Pending
        }
    }
}

/// `Pending`, with the wake-up arranged, if the budget is used up. Pays nothing.
#[inline]
pub fn poll_has_remaining(cx: &mut Context<'_>) -> Poll<()> {
    if has_remaining() {
        return Poll::Ready(());
    }
    defer(cx.waker());
    Poll::Pending
}

/// Gives a unit of the budget back when dropped, unless there was progress.
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
///         drop(unit); // nothing was there to be done, so nothing is spent
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
    /// Keeps the unit spent: something was achieved with it.
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

/// Wakes `waker` once the runtime has looked at its other work; at once outside of a runtime.
pub fn defer(waker: &Waker) {
    if !try_defer(waker) {
        waker.wake_by_ref();
    }
}

/// Wakes `waker` once the runtime has looked at its other work. Returns false, and does not wake it,
/// on a thread that drives no runtime.
#[must_use]
pub fn try_defer(waker: &Waker) -> bool {
    DEFER.with(Cell::get).is_some_and(|postpone| postpone(waker))
}

/// Says how wake-ups are postponed on this thread; returns what was said before.
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
    fn runs_out_after_128_and_is_put_back() {
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
    fn a_unit_without_progress_is_given_back() {
        with_initial(|| {
            for _ in 0..1000 {
                assert!(proceed().is_ready());
            }
        });
    }

    #[test]
    fn a_panic_puts_the_old_budget_back() {
        let caught = std::panic::catch_unwind(|| with_initial(|| panic!("boom")));
        assert!(caught.is_err());
        assert_eq!(BUDGET.with(Cell::get), Budget::UNCONSTRAINED);
    }
}
