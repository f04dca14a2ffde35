//! Cooperative scheduling: how an always-ready future is kept from starving the others.
//!
//! Each poll of a task has a budget of 128 units. Sockets, channels, locks and timers take one for each
//! operation and return `Pending` once there are none, as if they had to wait; the task's next poll
//! then begins with a full budget.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use wakeful_base::budget;

pub use wakeful_base::budget::{RestoreOnPending, poll_proceed};

/// Whether the current task may still do something in this poll.
pub fn has_budget_remaining() -> bool {
    budget::has_remaining()
}

/// Takes one unit of the budget, and gives way if there is none.
///
/// For loops that compute a lot without awaiting anything that takes from the budget.
pub async fn consume_budget() {
    poll_fn(|cx| {
        let unit = ready!(poll_proceed(cx));
        unit.made_progress();
        Poll::Ready(())
    })
    .await
}

/// Lets `inner` do without a budget: it is never made to give way.
pub fn unconstrained<F>(inner: F) -> Unconstrained<F> {
    Unconstrained { inner }
}

/// Future of [`unconstrained`].
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
