//! **Wrong**, by the order of two lines: it looks at the clock before it leaves its waker.
//!
//! This is how well-known tutorials mend the delay that only knows the first waker. If the time
//! comes between the two lines, the thread calls the old waker and ends, and the new one is never
//! called.
//!
//! **错误示范**，错就错在两行的先后：先看钟，再放 waker。有名的教程正是这样来修补“只认得第一个
//! waker”的。要是恰好在这两行之间到点，线程唤醒的是旧的 waker，然后就结束了；新的那个再也没人调用。

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::Alarm;
use super::latest_waker::Slot;

pub(super) struct Delay {
    alarm: Alarm,
    slot: Option<Arc<Slot>>,
}

impl Delay {
    pub(super) fn new(alarm: Alarm) -> Delay {
        Delay { alarm, slot: None }
    }
}

impl Future for Delay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.alarm.is_due() {
            return Poll::Ready(());
        }
        // The mistake: the time may come here, and the thread takes the waker of the poll before.
        match &self.slot {
            Some(slot) => slot.update(cx.waker()),
            None => {
                let slot = Arc::new(Slot::new(cx.waker()));
                self.slot = Some(slot.clone());
                self.alarm.start_thread(move || slot.wake());
            }
        }
        Poll::Pending
    }
}
