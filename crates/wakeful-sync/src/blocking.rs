//! Waiting for a future on a thread that has nothing else to do.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use wakeful_base::enter::{Entered, entered};
use wakeful_base::{Parker, Unparker};

struct Unpark(Unparker);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs `future` on this thread.
///
/// Panics if the thread drives a runtime: `called` names what the user called, `instead` what to
/// await in its place.
#[track_caller]
pub(crate) fn block_on<F: Future>(called: &str, instead: &str, future: F) -> F::Output {
    if entered() != Entered::No {
        panic!(
            "{called} would block a thread that runs asynchronous tasks, and all of them with it; \
             await `{instead}` instead, or call it inside `spawn_blocking` or `block_in_place`"
        );
    }
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(Unpark(parker.unparker())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => parker.park(),
        }
    }
}
