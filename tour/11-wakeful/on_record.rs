//! A task on the record, on a runtime that knows nothing of timelines.
//!
//! 跑在一个不知道时间线为何物的运行时上，却有记录的任务。

use std::fmt::Debug;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::timeline::{Timeline, Traced};

/// A future that records its polls, and the wake-ups of its task.
pub(super) struct OnRecord<F> {
    future: Traced<F>,
    name: String,
    timeline: Timeline,
    /// The runtime's waker, and ours around it. Kept, so that a future inside sees the same waker
    /// at each poll and need not replace it.
    wakers: Option<(Waker, Waker)>,
}

/// `future`, under the name `who`.
pub(super) fn on_record<F, T>(timeline: &Timeline, who: &str, future: F) -> OnRecord<F>
where
    F: Future<Output = T>,
{
    let (name, timeline) = (who.to_owned(), timeline.clone());
    OnRecord { future: timeline.trace(who, future), name, timeline, wakers: None }
}

impl<F> Future for OnRecord<F>
where
    F: Future<Output: Debug>,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let known = self.wakers.take().filter(|(theirs, _)| theirs.will_wake(cx.waker()));
        let wakers = known.unwrap_or_else(|| {
            (cx.waker().clone(), self.timeline.trace_waker(&self.name, cx.waker()))
        });
        let polled = Pin::new(&mut self.future).poll(&mut Context::from_waker(&wakers.1));
        // Not needed after `Ready`, when it must not be polled again.
        self.wakers = polled.is_pending().then_some(wakers);
        polled
    }
}
