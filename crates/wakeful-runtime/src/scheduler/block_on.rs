//! Drives one future on the calling thread, which sleeps while it waits.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use wakeful_base::{Parker, Unparker, budget};

struct UnparkThread(Unparker);

impl Wake for UnparkThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// A parker, and a waker that unparks it.
pub(crate) fn parker_and_waker() -> (Parker, Waker) {
    let parker = Parker::new();
    let waker = Waker::from(Arc::new(UnparkThread(parker.unparker())));
    (parker, waker)
}

/// Polls `future` until it is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let (parker, waker) = parker_and_waker();
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = budget::with_initial(|| future.as_mut().poll(&mut cx)) {
            return output;
        }
        parker.park();
    }
}
