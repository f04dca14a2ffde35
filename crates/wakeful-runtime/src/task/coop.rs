//! Cooperative scheduling: how an always-ready future is kept from starving the others.
//!
//! Each poll of a task has a budget of 128 units. Sockets, channels, locks and timers take one for each
//! operation and return `Pending` once there are none, as if they had to wait; the task's next poll
//! then begins with a full budget.
//!
//! A task that finds a channel full of messages, say, gives way between them though it never has to wait:
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
//! assert!(!reader.is_finished()); // and yet others had their turn
//! reader.await.unwrap();
//! # });
//! ```

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use wakeful_base::budget;

pub use wakeful_base::budget::{RestoreOnPending, poll_proceed};

/// Whether the current task may still do something in this poll.
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

/// Takes one unit of the budget, and gives way if there is none.
///
/// For loops that compute a lot without awaiting anything that takes from the budget.
///
/// ```
/// use wakeful::task;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let digits = task::spawn(async {
///     let mut sum = 0_u64;
///     for number in 0..10_000_u64 {
///         sum += number % 10;
///         task::consume_budget().await; // gives way now and then, not each time
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

/// Lets `inner` do without a budget: it is never made to give way.
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
/// assert!(reader.is_finished()); // in one go: everybody else had to wait for it
/// # });
/// ```
pub fn unconstrained<F>(inner: F) -> Unconstrained<F> {
    Unconstrained { inner }
}

/// Future of [`unconstrained`].
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
        // SAFETY: the only field is pinned with the whole, and nothing moves it.
        let inner = unsafe { self.map_unchecked_mut(|this| &mut this.inner) };
        budget::with_unconstrained(|| inner.poll(cx))
    }
}

/// Makes `fut` take a unit of the budget, and give way if there is none.
///
/// For futures of other crates, which know nothing of the budget. The unit counts only if the poll
/// ends `fut`.
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

/// Future of [`cooperative`].
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
        // SAFETY: the only field is pinned with the whole, and nothing moves it.
        let inner = unsafe { self.map_unchecked_mut(|this| &mut this.inner) };
        let output = ready!(inner.poll(cx));
        unit.made_progress();
        Poll::Ready(output)
    }
}
