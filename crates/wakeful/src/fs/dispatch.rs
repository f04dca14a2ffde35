//! Where an operation is carried out: on the spot if it cannot block, else on the pool.

use std::future::poll_fn;
use std::io;
use std::task::{Context, Poll, ready};
use wakeful_base::budget::{self, RestoreOnPending};
use wakeful_runtime::runtime::expect_current;
use wakeful_runtime::task::spawn_blocking_or_run;

/// A transfer of this size costs one unit of the budget, one that is so many times as large as many.
const BYTES_PER_UNIT: usize = 64 * 1024;

/// Has a thread of the pool run `operation`, for `call`; if the system gives no thread, runs it here.
///
/// # Errors
/// Those of the operation, or one that says that the runtime has shut down.
///
/// # Panics
/// Outside of a runtime.
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

/// The operation that was to be run in the background was not, or panicked.
pub(super) fn background_task_failed() -> io::Error {
    // In these words, which programs look for.
    io::Error::other("background task failed")
}

/// Calls `operation`, which gives an answer if it needs no waiting. An answer costs budget.
///
/// # Panics
/// Outside of a runtime, where [`on_pool`] would.
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

/// As [`budget::poll_proceed`], in a runtime. None if that has shut down: nothing is to be answered on
/// the spot then, so that operations fail whatever is cached.
///
/// # Panics
/// Outside of one.
#[inline]
pub(super) fn poll_inline_unit(call: &str, cx: &mut Context<'_>) -> Poll<Option<RestoreOnPending>> {
    if !expect_current(call) {
        return Poll::Ready(None);
    }
    budget::poll_proceed(cx).map(Some)
}

/// Pays for a transfer that one unit has been paid for.
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
