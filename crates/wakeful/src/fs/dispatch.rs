//! Runs an operation inline if it cannot block, else on the blocking pool.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};
use wakeful_base::budget::{self, RestoreOnPending};
use wakeful_runtime::runtime::expect_current;
use wakeful_runtime::task::spawn_blocking_or_run;

/// How many transferred bytes cost one unit of the cooperative budget. Bounds how long a task that
/// moves many bytes per operation runs before it yields.
const BYTES_PER_UNIT: usize = 64 * 1024;

/// Runs `operation` on the blocking pool. If no pool thread can be started, runs it on the calling
/// thread. `call` is the public function that panic messages name.
///
/// # Errors
/// Returns the operation's error, or [`background_task_failed`] if the runtime has shut down.
///
/// # Panics
/// Panics if the future is polled outside a runtime.
pub(super) async fn on_pool<F, T>(call: &'static str, operation: F) -> io::Result<T>
where
    F: FnOnce() -> io::Result<T> + Send + 'static,
    T: Send + 'static,
{
    match spawn_blocking_or_run(call, operation).await {
        Ok(result) => result,
        Err(_) => Err(background_task_failed()),
    }
}

/// Returns the error for an operation that did not run in the background, or panicked there.
pub(super) fn background_task_failed() -> io::Error {
    // Tokio's text, which programs match on.
    io::Error::other("background task failed")
}

/// Runs `operation` inline. An operation that returns `None` would have to block; any other one
/// costs one unit of the budget.
///
/// # Panics
/// Panics if the future is polled outside a runtime, as [`on_pool`] does.
pub(super) async fn try_inline<T>(
    call: &'static str,
    mut operation: impl FnMut(&mut Context<'_>) -> Option<T>,
) -> Option<T> {
    poll_fn(|cx| {
        let Some(unit) = ready!(poll_inline_unit(call, cx)) else { return Poll::Ready(None) };
        let answer = operation(cx);
        if answer.is_some() {
            unit.made_progress();
        }
        Poll::Ready(answer)
    })
    .await
}

/// Reserves a unit of the budget for an inline operation, as [`budget::poll_proceed`] does.
///
/// Returns `None` if the runtime has shut down. The operation then goes to the pool, which rejects
/// it, so operations fail after a shutdown whether or not their data is cached.
///
/// # Panics
/// Panics if called outside a runtime.
#[inline]
pub(super) fn poll_inline_unit(call: &str, cx: &mut Context<'_>) -> Poll<Option<RestoreOnPending>> {
    if !expect_current(call) {
        return Poll::Ready(None);
    }
    budget::poll_proceed(cx).map(Some)
}

/// Charges the budget for the part of a transfer that the unit of [`poll_inline_unit`] does not
/// cover.
#[inline]
pub(super) fn charge_for_bytes(bytes: usize, cx: &mut Context<'_>) {
    for _ in 0..bytes / BYTES_PER_UNIT {
        if !budget::has_remaining() {
            return;
        }
        if let Poll::Ready(unit) = budget::poll_proceed(cx) {
            unit.made_progress();
        }
    }
}
