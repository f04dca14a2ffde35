//! A future that keeps its output until it is asked for.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

/// A future, then its output, then nothing.
// `C` keeps the tag beside the future. Elsewhere it may hide in bytes of the future that the future has
// lent to itself, and to look at the tag is to touch them.
#[derive(Debug)]
#[repr(C)]
pub enum MaybeDone<F: Future> {
    /// Not ready yet.
    Future(F),
    /// Ready.
    Done(F::Output),
    /// The output was taken.
    Gone,
}

// The output is never pinned.
impl<F: Future + Unpin> Unpin for MaybeDone<F> {}

/// Wraps a future.
pub fn maybe_done<F: IntoFuture>(future: F) -> MaybeDone<F::IntoFuture> {
    MaybeDone::Future(future.into_future())
}

/// Takes the output.
///
/// # Panics
/// If it is not there.
pub fn take_output<F: Future>(done: Pin<&mut MaybeDone<F>>) -> F::Output {
    // SAFETY: a pinned future is not moved: there is none any more.
    let done = unsafe { done.get_unchecked_mut() };
    assert!(matches!(done, MaybeDone::Done(_)), "a future's output was taken before it was there");
    match std::mem::replace(done, MaybeDone::Gone) {
        MaybeDone::Done(output) => output,
        _ => unreachable!("looked at just now"),
    }
}

/// Takes the output if it is there and is an error.
pub fn take_error<F, T, E>(done: Pin<&mut MaybeDone<F>>) -> Option<E>
where
    F: Future<Output = Result<T, E>>,
{
    match *done {
        MaybeDone::Done(Err(_)) => take_output(done).err(),
        _ => None,
    }
}

/// Takes the value of the output, which is there and no error.
///
/// # Panics
/// If it is not.
pub fn take_value<F, T, E>(done: Pin<&mut MaybeDone<F>>) -> T
where
    F: Future<Output = Result<T, E>>,
{
    match take_output(done) {
        Ok(value) => value,
        Err(_) => unreachable!("the first error ends the whole"),
    }
}

impl<F: Future> Future for MaybeDone<F> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the future stays where it is until it is dropped in place.
        let this = unsafe { self.as_mut().get_unchecked_mut() };
        let output = match this {
            // SAFETY: as above.
            MaybeDone::Future(future) => match unsafe { Pin::new_unchecked(future) }.poll(cx) {
                Poll::Ready(output) => output,
                Poll::Pending => return Poll::Pending,
            },
            MaybeDone::Done(_) => return Poll::Ready(()),
            MaybeDone::Gone => panic!("`join!` polled after it gave the outputs"),
        };
        self.set(MaybeDone::Done(output));
        Poll::Ready(())
    }
}
