//! Futures and wakers that record by themselves what is done to them.
//!
//! 会自己记录遭遇的 future 和 waker。

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::{Timeline, thread_name};

/// A future that records each of its polls, and what came of it.
pub struct Traced<F> {
    name: String,
    timeline: Timeline,
    /// Boxed, so that it can be pinned without `unsafe`.
    future: Pin<Box<F>>,
}

/// What is behind the waker made by [`Timeline::trace_waker`]: it records each wake-up, and passes
/// it on.
pub struct TracedWaker {
    name: String,
    timeline: Timeline,
    waker: Waker,
}

impl Timeline {
    /// `future`, under the name `who`, with its polls recorded.
    pub fn trace<F: Future>(&self, who: &str, future: F) -> Traced<F> {
        Traced { name: who.to_owned(), timeline: self.clone(), future: Box::pin(future) }
    }

    /// A waker that records that `who` was woken, and by which thread, and then wakes `waker`.
    ///
    /// Make one per task, not one per poll: two that were made for the same `waker` do not know
    /// that they wake the same ([`Waker::will_wake`]).
    pub fn trace_waker(&self, who: &str, waker: &Waker) -> Waker {
        let name = who.to_owned();
        Arc::new(TracedWaker { name, timeline: self.clone(), waker: waker.clone() }).into()
    }
}

impl<F> Future for Traced<F>
where
    F: Future<Output: Debug>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.timeline.polled(&self.name);
        let result = self.future.as_mut().poll(cx);
        match &result {
            Poll::Ready(value) => self.timeline.ready(&self.name, value),
            Poll::Pending => self.timeline.pending(&self.name),
        }
        result
    }
}

impl Wake for TracedWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.timeline.woken(&self.name, &thread_name());
        self.waker.wake_by_ref();
    }
}
