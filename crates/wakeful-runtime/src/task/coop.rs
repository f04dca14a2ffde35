//! Cooperative scheduling: a budget that makes tasks yield although they never have to wait.
//!
//! Each poll of a task has a budget of 128 units. Each operation on a socket, channel, lock or
//! timer takes one unit. When none is left, operations return `Pending` as if they had to wait, so
//! the task yields; its next poll starts with a full budget.
//!
//! For example, a task that drains a channel full of messages yields in between:
//!
//! ```
//! use wakeful::{sync::mpsc, task};
//!
//! # wakeful::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let (tx, mut rx) = mpsc::unbounded_channel();
//! for number in 0..1000 {
//!     tx.send(number).unwrap();
//! }
//! let reader = task::spawn(async move {
//!     for _ in 0..1000 {
//!         rx.recv().await; // always ready
//!     }
//! });
//! task::yield_now().await;
//! assert!(!reader.is_finished()); // the reader has yielded
//! reader.await.unwrap();
//! # });
//! ```

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use wakeful_base::budget;

pub use wakeful_base::budget::{RestoreOnPending, poll_proceed};

/// Returns whether the current poll has budget left.
///
/// Without budget, the next operation on a socket, channel, lock or timer makes the task yield.
/// Outside a runtime this returns true.
///
/// ```
/// use wakeful::task::{coop::has_budget_remaining, consume_budget};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = wakeful::spawn(async {
///     let mut batch = 0;
///     while has_budget_remaining() {
///         consume_budget().await;
///         batch += 1;
///     }
///     batch
/// });
/// assert!(task.await.unwrap() > 0);
/// # });
/// ```
pub fn has_budget_remaining() -> bool {
    budget::has_remaining()
}

/// Takes one unit of the budget, and yields if there is none.
///
/// Call it in loops that compute for long without awaiting an operation that takes budget.
///
/// # Cancel safety
/// This function is cancel safe: if the future is dropped, nothing is lost.
///
/// # Examples
///
/// ```
/// use wakeful::task;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let digits = task::spawn(async {
///     let mut sum = 0_u64;
///     for number in 0..10_000_u64 {
///         sum += number % 10;
///         task::consume_budget().await; // yields once per 128 numbers
///     }
///     sum
/// });
/// assert_eq!(digits.await.unwrap(), 45_000);
/// # });
/// ```
pub async fn consume_budget() {
    poll_fn(|cx| {
        let unit = ready!(poll_proceed(cx));
        unit.made_progress();
        Poll::Ready(())
    })
    .await
}

/// Runs a future without a budget, so that it never yields unless it has to wait.
///
/// A future that is always ready then blocks its thread and the other tasks of its worker.
///
/// ```
/// use wakeful::{sync::mpsc, task};
///
/// # wakeful::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let (tx, mut rx) = mpsc::unbounded_channel();
/// for number in 0..1000 {
///     tx.send(number).unwrap();
/// }
/// let reader = task::spawn(task::unconstrained(async move {
///     for _ in 0..1000 {
///         rx.recv().await;
///     }
/// }));
/// task::yield_now().await;
/// assert!(reader.is_finished()); // in one poll, while all other tasks had to wait
/// # });
/// ```
pub fn unconstrained<F>(inner: F) -> Unconstrained<F> {
    Unconstrained { inner }
}

/// A future returned by [`unconstrained`].
///
/// ```
/// use wakeful::task::{Unconstrained, unconstrained};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let answer: Unconstrained<_> = unconstrained(async { 42 });
/// assert_eq!(answer.await, 42);
/// # });
/// ```
#[derive(Debug)]
#[must_use = "Unconstrained does nothing unless polled"]
pub struct Unconstrained<F> {
    inner: F,
}

impl<F: Future> Future for Unconstrained<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: structural pinning of the only field: it is never moved out, there is no `Drop`
        // impl, and `Unconstrained` is `Unpin` only if `F` is.
        let inner = unsafe { self.map_unchecked_mut(|this| &mut this.inner) };
        budget::with_unconstrained(|| inner.poll(cx))
    }
}

/// Wraps a future so that it takes one unit of the budget, and yields if there is none.
///
/// Use it for futures of other crates, which do not take budget. The unit is given back unless the
/// poll completes the future.
///
/// ```
/// use wakeful::task::coop::{cooperative, has_budget_remaining};
///
/// # wakeful::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// # wakeful::task::spawn(async {
/// let mut steps = 0;
/// while has_budget_remaining() {
///     // Ready at once; without the wrapper this loop would not end.
///     cooperative(std::future::ready(())).await;
///     steps += 1;
/// }
/// assert!(steps > 0);
/// # }).await.unwrap();
/// # });
/// ```
pub fn cooperative<F: Future>(fut: F) -> Coop<F> {
    Coop { inner: fut }
}

/// A future returned by [`cooperative`].
///
/// ```
/// use wakeful::task::coop::{Coop, cooperative};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let ready: Coop<std::future::Ready<u32>> = cooperative(std::future::ready(42));
/// assert_eq!(ready.await, 42);
/// # });
/// ```
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Coop<F: Future> {
    inner: F,
}

impl<F: Future> Future for Coop<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let unit = ready!(poll_proceed(cx));
        // SAFETY: structural pinning of the only field: it is never moved out, there is no `Drop`
        // impl, and `Coop` is `Unpin` only if `F` is.
        let inner = unsafe { self.map_unchecked_mut(|this| &mut this.inner) };
        let output = ready!(inner.poll(cx));
        unit.made_progress();
        Poll::Ready(output)
    }
}
