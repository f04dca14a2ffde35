//! Giving way to other tasks.

use std::future::poll_fn;
use std::task::Poll;
use wakeful_base::budget;
use wakeful_task::{WaitKind, note_wait};

/// Gives way: the task runs again after others that are ready, and after a look for I/O and timers (a worker of a
/// multi-thread runtime looks every 10 µs at most).
///
/// ```
/// use wakeful::task;
///
/// # wakeful::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let other = task::spawn(async { "had its turn" });
/// assert!(!other.is_finished());
/// task::yield_now().await;
/// assert!(other.is_finished());
/// # });
/// ```
pub async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        note_wait(WaitKind::Yield, 0);
        budget::defer(cx.waker());
        Poll::Pending
    })
    .await
}
