//! A future that stores its output until it is taken.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future, or its output, or nothing once the output was taken.
// `repr(C)` keeps the tag outside the future. The default layout may store the tag in a niche of
// the future. Reading the tag would then read bytes to which the pinned future may hold a mutable
// reference.
#[derive(Debug)]
#[repr(C)]
pub enum MaybeDone<F: Future> {
    /// The future, which is not ready yet.
    Future(F),
    /// The output, which was not taken yet.
    Done(F::Output),
    /// The output was taken.
    Gone,
}

// Only the future is pinned structurally, so only the future needs to be `Unpin`.
impl<F: Future + Unpin> Unpin for MaybeDone<F> {}

/// Wraps a future.
pub fn maybe_done<F: IntoFuture>(future: F) -> MaybeDone<F::IntoFuture> {
    MaybeDone::Future(future.into_future())
}

/// Takes the output.
///
/// # Panics
/// Panics if the future is not ready yet, or its output was taken already.
pub fn take_output<F: Future>(done: Pin<&mut MaybeDone<F>>) -> F::Output {
    // SAFETY: only the output is moved, and the output is not pinned. The assertion below fails
    // before anything is moved if this is still a future.
    let done = unsafe { done.get_unchecked_mut() };
    assert!(
        matches!(done, MaybeDone::Done(_)),
        "the output of a `join!` future was taken before it was ready"
    );
    match std::mem::replace(done, MaybeDone::Gone) {
        MaybeDone::Done(output) => output,
        _ => unreachable!("checked by the assertion above"),
    }
}

/// Takes the error if the future is ready and has failed.
pub fn take_error<F, T, E>(done: Pin<&mut MaybeDone<F>>) -> Option<E>
where
    F: Future<Output = Result<T, E>>,
{
    match *done {
        MaybeDone::Done(Err(_)) => take_output(done).err(),
        _ => None,
    }
}

/// Takes the value of a future that has succeeded.
///
/// # Panics
/// Panics if the future is not ready yet, or has failed.
pub fn take_value<F, T, E>(done: Pin<&mut MaybeDone<F>>) -> T
where
    F: Future<Output = Result<T, E>>,
{
    match take_output(done) {
        Ok(value) => value,
        Err(_) => unreachable!("`try_join!` returns the first error before it takes values"),
    }
}

impl<F: Future> Future for MaybeDone<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out of `this`. The future stays in place until `set` drops it
        // there.
        let this = unsafe { self.as_mut().get_unchecked_mut() };
        let output = match this {
            // SAFETY: the future is pinned with `self`, and is never moved out of it.
            MaybeDone::Future(future) => match unsafe { Pin::new_unchecked(future) }.poll(cx) {
                Poll::Ready(output) => output,
                Poll::Pending => return Poll::Pending,
            },
            MaybeDone::Done(_) => return Poll::Ready(()),
            MaybeDone::Gone => panic!("`join!` polled after it completed"),
        };
        self.set(MaybeDone::Done(output));
        Poll::Ready(())
    }
}
