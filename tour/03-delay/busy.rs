//! The shortest delay there is. It is correct, and a waste.
//!
//! 最短的 delay。它是对的，但很浪费。

use std::pin::Pin;
use std::task::{Context, Poll};

use super::Alarm;

pub(super) struct Delay {
    alarm: Alarm,
}

impl Delay {
    pub(super) fn new(alarm: Alarm) -> Delay {
        Delay { alarm }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.alarm.is_due() {
            return Poll::Ready(());
        }
        // "Ask me again", before the question has been answered. To wake more often than needed is
        // always allowed, so this keeps the contract; but the task will be polled without a break.
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
