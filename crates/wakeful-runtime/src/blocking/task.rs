//! A closure as a task: what `spawn_blocking` makes of it.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use wakeful_base::budget::{self, Budget};
use wakeful_task::{Id, JoinHandle, Runnable, Schedule, new_task};

/// Where blocking tasks are at home: nowhere, for they are polled once and never wait.
struct NoScheduler;

static NO_SCHEDULER: NoScheduler = NoScheduler;

// SAFETY: a static is always valid.
unsafe impl Schedule for NoScheduler {
    unsafe fn schedule(_: NonNull<NoScheduler>, runnable: Runnable) {
        unreachable!("a blocking task never waits, so nothing can wake it: {:?}", &*runnable);
    }

    unsafe fn release_cell(_: NonNull<NoScheduler>) {}
}

/// Runs a closure at its first poll.
struct BlockingCall<F>(Option<F>);

impl<F> Unpin for BlockingCall<F> {}

impl<F: FnOnce() -> R, R> Future for BlockingCall<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        let call = self.0.take().expect("a blocking task is polled once");
        // It may block as long as it likes, so nothing in it should be told to give way.
        let _no_limit = budget::replace(Budget::UNCONSTRAINED);
        Poll::Ready(call())
    }
}

/// Makes a task of `call`, to be run on a thread of the pool.
pub(crate) fn blocking_task<F, R>(
    call: F,
    id: Id,
    spawned_at: &'static Location<'static>,
) -> (Runnable, JoinHandle<R>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    // SAFETY: the home is a static; `F` and `R` are `Send`.
    unsafe { new_task(BlockingCall(Some(call)), NonNull::from(&NO_SCHEDULER), id, spawned_at) }
}
