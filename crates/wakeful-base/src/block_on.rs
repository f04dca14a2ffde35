//! Drives one future on the calling thread and parks the thread while the future is pending.
//!
//! For code outside a runtime: blocking calls of channels and locks, examples, tests. It knows
//! nothing of tasks. The caller checks with [`crate::enter`] whether the thread may block.

use std::future::Future;
use std::panic::Location;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};

use crate::threads::{BlockedOn, RootWaker};
use crate::{Parker, Unparker};

struct UnparkThread(Unparker);

impl Wake for UnparkThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls `future` until it is ready and parks the thread between polls.
///
/// ```
/// # use wakeful_base::block_on;
/// assert_eq!(block_on(async { 6 * 7 }), 42);
/// ```
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let parker = Parker::new();
    let root = RootWaker::new(Arc::new(UnparkThread(parker.unparker())));
    let waker = root.waker();
    let mut cx = Context::from_waker(waker);
    let blocked = BlockedOn::begin(Some(Location::caller()), 0, &root);
    loop {
        if let Poll::Ready(output) = blocked.poll(waker, || future.as_mut().poll(&mut cx)) {
            return output;
        }
        parker.park();
    }
}
