//! Blocking a thread on a future, for the `blocking_*` methods.

use std::future::Future;

use wakeful_base::enter::{Entered, entered};

/// Runs `future` to completion on this thread.
///
/// # Panics
/// Panics if the thread is running a runtime. The message names the method that was `called`, and
/// `instead`, the expression to await.
#[track_caller]
pub(crate) fn block_on<F: Future>(called: &str, instead: &str, future: F) -> F::Output {
    if entered() != Entered::No {
        // Tokio's tests check "Cannot block the current thread from within a runtime".
        panic!(
            "{called} would block a thread that runs asynchronous tasks, and all of them with it: \
             Cannot block the current thread from within a runtime; \
             await `{instead}` instead, or call it inside `spawn_blocking` or `block_in_place`"
        );
    }
    wakeful_base::block_on(future)
}
