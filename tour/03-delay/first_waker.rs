//! **Wrong.** One thread is enough, so it is started once; but it only knows the waker of the first
//! poll.
//!
//! **错误示范。**一个线程就够了，所以只启动一次；可它只认得第一次 poll 的 waker。

use std::pin::Pin;
use std::task::{Context, Poll};

use super::Alarm;

pub(super) struct Delay {
    alarm: Alarm,
    has_thread: bool,
}

impl Delay {
    pub(super) fn new(alarm: Alarm) -> Delay {
        Delay { alarm, has_thread: false }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.alarm.is_due() {
            return Poll::Ready(());
        }
        if !self.has_thread {
            self.has_thread = true;
            let waker = cx.waker().clone();
            self.alarm.start_thread(move || waker.wake());
        }
        // The mistake: a later poll may bring another waker, which is forgotten here. It is owed a
        // wake-up just the same, and will not get it.
        Poll::Pending
    }
}
