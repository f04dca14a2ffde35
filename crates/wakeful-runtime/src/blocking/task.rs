//! The task that `spawn_blocking` makes of a closure.

use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use wakeful_base::budget::{self, Budget};
use wakeful_task::{Id, JoinHandle, Runnable, Schedule, new_task};

/// The scheduler of blocking tasks. It has nothing to do: they are polled once and never wait.
struct NoScheduler;

static NO_SCHEDULER: NoScheduler = NoScheduler;

// SAFETY: `new_task` is only given `NO_SCHEDULER`, a static, which is valid until the program ends.
unsafe impl Schedule for NoScheduler {
    unsafe fn schedule(_: NonNull<NoScheduler>, runnable: Runnable) {
        unreachable!("a blocking task never waits, so nothing can wake it: {:?}", &*runnable);
    }

    unsafe fn release_cell(_: NonNull<NoScheduler>) {}
}

/// A future that runs a closure at its first poll.
struct BlockingCall<F>(Option<F>);

impl<F> Unpin for BlockingCall<F> {}

impl<F: FnOnce() -> R, R> Future for BlockingCall<F> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<R> {
        let call = self.0.take().expect("a blocking task is polled once");
        // The closure may block anyway, so the operations that it polls never have to yield.
        let _no_limit = budget::replace(Budget::UNCONSTRAINED);
        Poll::Ready(call())
    }
}

/// Makes a task that runs `call`, to be polled on a thread of the pool.
pub(crate) fn blocking_task<F, R>(
    call: F,
    id: Id,
    spawned_at: &'static Location<'static>,
) -> (Runnable, JoinHandle<R>)
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    // SAFETY: the scheduler is a static, so it outlives the task. `F` and `R` are `Send`, so the
    // task may be polled and dropped on any thread.
    unsafe { new_task(BlockingCall(Some(call)), NonNull::from(&NO_SCHEDULER), id, spawned_at) }
}
