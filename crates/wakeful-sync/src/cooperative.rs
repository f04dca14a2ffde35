//! Futures that take part in cooperative scheduling by consuming the task's budget.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::budget;

/// Consumes one unit of the budget, or yields if none is left.
pub(crate) async fn consume_budget() {
    poll_fn(budget::poll_proceed).await.made_progress();
}

/// Wraps `future` so that it consumes one unit of the budget when it completes. If none is left,
/// `future` is not polled and the task yields.
pub(crate) fn cooperative<F: Future>(future: F) -> Cooperative<F> {
    Cooperative { future }
}

/// The future of [`cooperative`].
pub(crate) struct Cooperative<F> {
    future: F,
}

impl<F: Future> Future for Cooperative<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let unit = ready!(budget::poll_proceed(cx));
        // SAFETY: `future` is pinned whenever `self` is. There is no `Drop` that could move it, and
        // `Cooperative` is `Unpin` only if `F` is.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        let output = ready!(future.poll(cx));
        unit.made_progress();
        Poll::Ready(output)
    }
}
