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

impl<F: Future> MaybeDone<F> {
    /// The output, if it is there.
    pub fn output_mut(self: Pin<&mut Self>) -> Option<&mut F::Output> {
        // SAFETY: only the future is pinned, and it is not touched.
        match unsafe { self.get_unchecked_mut() } {
            MaybeDone::Done(output) => Some(output),
            _ => None,
        }
    }

    /// Takes the output, if it is there.
    pub fn take_output(self: Pin<&mut Self>) -> Option<F::Output> {
        // SAFETY: a pinned future is not moved: there is none any more.
        let this = unsafe { self.get_unchecked_mut() };
        match this {
            MaybeDone::Done(_) => match std::mem::replace(this, MaybeDone::Gone) {
                MaybeDone::Done(output) => Some(output),
                _ => None,
            },
            _ => None,
        }
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
