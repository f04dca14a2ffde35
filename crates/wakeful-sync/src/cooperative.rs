//! Lets a future take part in the cooperative budget.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::budget;

/// Pays one unit of the budget; with none left, it has to wait.
pub(crate) async fn pay() {
    poll_fn(budget::poll_proceed).await.made_progress();
}

/// Pays one unit of the budget when `future` is ready; with none left, it has to wait.
pub(crate) fn cooperative<F: Future>(future: F) -> Cooperative<F> {
    Cooperative { future }
}

/// Future of [`cooperative`].
pub(crate) struct Cooperative<F> {
    future: F,
}

impl<F: Future> Future for Cooperative<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let unit = ready!(budget::poll_proceed(cx));
        // SAFETY: the only field is pinned along with us; there is no `Drop`, and `Unpin` is as the field's.
        let future = unsafe { self.map_unchecked_mut(|this| &mut this.future) };
        let output = ready!(future.poll(cx));
        unit.made_progress();
        Poll::Ready(output)
    }
}
