//! The trait between `FnMut(&Waker) -> bool` and `Future`.
//!
//! It has all that an executor needs. What `Future` has on top of it is for the compiler, which
//! writes futures that point into themselves, and for the future of `Future`:
//!
//! | here | in `Future` | why |
//! |---|---|---|
//! | `&mut self` | `Pin<&mut Self>` | the future of an async fn must not move any more (step 2) |
//! | `&Waker` | `&mut Context<'_>` | more can be added to a context later |
//!
//! 介于 `FnMut(&Waker) -> bool` 和 `Future` 之间的 trait。执行器要的它都有了；`Future` 多出来的两
//! 样，`Pin` 是为编译器准备的，因为它写出的 future 会指向自己（第 2 步）；`Context` 是为将来准备
//! 的，以后还可以往里加东西。

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::executor::Executor;
use super::time_future::TimeFuture;

/// A computation that can be asked to go on. `Future`, simplified.
pub(super) trait SimpleFuture {
    type Output;

    /// Goes as far as it can. If it is not done, it has kept a clone of `waker`.
    fn poll(&mut self, waker: &Waker) -> Poll<Self::Output>;
}

impl Executor {
    /// The `bool` of a job is `Poll` without the value.
    pub(super) fn spawn_simple<F>(&self, name: &str, mut future: F)
    where
        F: SimpleFuture<Output = ()> + Send + 'static,
    {
        self.spawn_job(name, Box::new(move |waker| future.poll(waker).is_ready()));
    }
}

/// A future that may be moved is a simple one. That of an async fn is not `Unpin`, and stays out.
impl<F: Future + Unpin> SimpleFuture for F {
    type Output = F::Output;

    fn poll(&mut self, waker: &Waker) -> Poll<F::Output> {
        Future::poll(Pin::new(self), &mut Context::from_waker(waker))
    }
}

/// Waits for one timer after the other: a state machine by hand, which points at nothing of its
/// own.
pub(super) struct InTurn {
    timers: Vec<TimeFuture>,
}

impl InTurn {
    /// The last timer of the list is the first to be waited for.
    pub(super) fn new(timers: Vec<TimeFuture>) -> InTurn {
        InTurn { timers }
    }
}

impl SimpleFuture for InTurn {
    type Output = ();

    fn poll(&mut self, waker: &Waker) -> Poll<()> {
        while let Some(timer) = self.timers.last_mut() {
            if SimpleFuture::poll(timer, waker).is_pending() {
                return Poll::Pending;
            }
            self.timers.pop();
        }
        Poll::Ready(())
    }
}
