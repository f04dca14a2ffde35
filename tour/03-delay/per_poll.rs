//! A thread sleeps in place of the delay, and wakes the task when the delay is due.
//!
//! 线程替 delay 睡觉，到点唤醒任务。

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
        // The context is only lent for this call, so the thread gets a clone of its waker. Each
        // poll starts another thread: correct for any task that polls, but expensive if polls are
        // frequent.
        let waker = cx.waker().clone();
        self.alarm.start_thread(move || waker.wake());
        Poll::Pending
    }
}
