use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::poll_consume_budget;
use crate::traits::AsyncWrite;

/// A writer that discards everything written to it, created by [`sink`].
///
/// ```
/// use wakeful::io::{Sink, copy, sink};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut nowhere: Sink = sink();
/// let mut rest: &[u8] = b"not wanted";
/// assert_eq!(copy(&mut rest, &mut nowhere).await?, 10);
/// assert!(rest.is_empty());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct Sink {
    _private: (),
}

/// Creates a writer that accepts and discards everything.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut reader: &[u8] = b"how many bytes?";
/// assert_eq!(wakeful::io::copy(&mut reader, &mut wakeful::io::sink()).await?, 15);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn sink() -> Sink {
    Sink { _private: () }
}

impl AsyncWrite for Sink {
    #[inline]
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(poll_consume_budget(cx));
        Poll::Ready(Ok(buf.len()))
    }

    #[inline]
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(poll_consume_budget(cx));
        Poll::Ready(Ok(bufs.iter().map(|buf| buf.len()).sum()))
    }

    #[inline]
    fn is_write_vectored(&self) -> bool {
        true
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_consume_budget(cx).map(Ok)
    }

    #[inline]
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        poll_consume_budget(cx).map(Ok)
    }
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Sink { .. }")
    }
}
