use std::fmt;
use std::io::{self, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use super::poll_consume_budget;
use crate::traits::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

/// A stream that is always at its end and discards all writes, created by [`empty`].
///
/// ```
/// use wakeful::io::{AsyncReadExt, Empty, empty};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let nothing: Empty = empty();
/// let mut text = String::new();
/// nothing.chain(&b"something"[..]).read_to_string(&mut text).await?;
/// assert_eq!(text, "something");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct Empty {
    _private: (),
}

/// Creates a stream that is always at its end and discards everything written to it.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, empty};
///
/// let mut text = String::new();
/// assert_eq!(empty().read_to_string(&mut text).await?, 0);
/// assert_eq!(empty().write(b"gone").await?, 4);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn empty() -> Empty {
    Empty { _private: () }
}

impl AsyncRead for Empty {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        _buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        poll_consume_budget(cx).map(Ok)
    }
}

impl AsyncBufRead for Empty {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        poll_consume_budget(cx).map(|()| Ok(&[][..]))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, _amt: usize) {}
}

impl AsyncWrite for Empty {
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

impl AsyncSeek for Empty {
    #[inline]
    fn start_seek(self: Pin<&mut Self>, _position: SeekFrom) -> io::Result<()> {
        Ok(())
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        poll_consume_budget(cx).map(|()| Ok(0))
    }
}

impl fmt::Debug for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("Empty { .. }")
    }
}
