//! The trait of a primitive under test.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use wakeful_torture::rng::Rng;

use crate::pool::Pool;
use crate::wakers;

/// A primitive and its handles, except those that futures hold.
pub trait Shared: Send + Sync + Sized + 'static {
    /// Whether it needs timers, I/O or tasks, and so a runtime.
    const NEEDS_RUNTIME: bool = false;

    fn make(rng: &mut Rng) -> Self;

    /// Performs a random operation. It may add a future to `pool` that performs one. Hostile code
    /// may panic in it.
    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng);

    /// Drops all handles, and checks the invariants of the primitive.
    fn clear(&self);
}

/// Calls `f` with a hostile waker.
pub fn with_context<R>(f: impl FnOnce(&mut Context<'_>) -> R) -> R {
    let waker = wakers::hostile();
    f(&mut Context::from_waker(&waker))
}

/// Returns a future that is pending once. It does not wake its waker: the pool polls it again in
/// any case.
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
