//! Giving way to other tasks.

use std::future::poll_fn;
use std::task::Poll;
use wakeful_base::budget;
use wakeful_task::{WaitKind, note_wait};

/// Gives way: the task runs again after others that are ready, and after a look for I/O and timers.
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        note_wait(WaitKind::Turn, 0);
        budget::defer(cx.waker());
        Poll::Pending
    })
    .await
}
