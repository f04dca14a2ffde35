//! `yield_now`: yielding to other tasks.

use std::future::poll_fn;
use std::task::{Poll, ready};
use wakeful_base::budget;
use wakeful_base::waiting::{WaitKind, note};

/// Yields to the scheduler, so that other tasks can run.
///
/// The task runs again after the tasks that are ready now, and after the worker has polled for I/O
/// and timers. (A worker of a multi-thread runtime polls for them at most once every 10 µs, and
/// otherwise skips that.) Other futures of the same task, as in `join!`, are polled as usual.
///
/// # Cancel safety
/// This function is cancel safe: if the future is dropped, nothing is lost.
///
/// # Examples
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
        ready!(budget::poll_traced(cx));
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        note(WaitKind::Turn, 0, cx.waker());
        budget::defer(cx.waker());
        Poll::Pending
    })
    .await
}
