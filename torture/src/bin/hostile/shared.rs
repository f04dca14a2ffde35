//! What a family of scenarios is: a primitive with its handles, and random operations on it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use wakeful_torture::rng::Rng;

use crate::pool::Pool;
use crate::wakers;

/// A primitive and all handles to it that no future holds.
pub trait Shared: Send + Sync + Sized + 'static {
    /// Whether it needs timers, I/O or tasks, and so a runtime around it.
    const NEEDS_RUNTIME: bool = false;

    fn make(rng: &mut Rng) -> Self;

    /// Does something with it, or puts a future into `pool` that will. A panic of hostile code may
    /// come out.
    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng);

    /// Drops all handles, and checks what must be true then.
    fn clear(&self);
}

/// Calls `f` with a hostile waker.
pub fn with_context<R>(f: impl FnOnce(&mut Context<'_>) -> R) -> R {
    let waker = wakers::hostile();
    f(&mut Context::from_waker(&waker))
}

/// Is pending once, and counts on being polled again without a wake.
pub fn pause() -> impl Future<Output = ()> + Send {
    Pause { paused: false }
}

struct Pause {
    paused: bool,
}

impl Future for Pause {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.paused, true) {
            false => Poll::Pending,
            true => Poll::Ready(()),
        }
    }
}
