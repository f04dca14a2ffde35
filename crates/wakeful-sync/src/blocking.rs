//! Waiting for a future on a thread that has nothing else to do.

use std::future::Future;

use wakeful_base::enter::{Entered, entered};

/// Runs `future` on this thread.
///
/// Panics if the thread drives a runtime: `called` names what the user called, `instead` what to
/// await in its place.
#[track_caller]
pub(crate) fn block_on<F: Future>(called: &str, instead: &str, future: F) -> F::Output {
    if entered() != Entered::No {
        panic!(
            "{called} would block a thread that runs asynchronous tasks, and all of them with it: \
             Cannot block the current thread from within a runtime; await `{instead}` instead, or call it inside `spawn_blocking` or `block_in_place`"
        );
    }
    wakeful_base::block_on(future)
}
