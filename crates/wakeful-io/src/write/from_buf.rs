use std::future::Future;
use std::io::{self, IoSlice};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::AsyncWrite;

pin_project! {
    /// The future returned by [`AsyncWriteExt::write_buf`](crate::AsyncWriteExt::write_buf).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteBuf<'a, W, B> {
        writer: &'a mut W,
        buf: &'a mut B,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, W, B> WriteBuf<'a, W, B> {
    pub(super) fn new(writer: &'a mut W, buf: &'a mut B) -> Self {
        WriteBuf { writer, buf, _pin: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin, B: Buf> Future for WriteBuf<'_, W, B> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        if !me.buf.has_remaining() {
            return Poll::Ready(Ok(0));
        }
        poll_write_buf(Pin::new(&mut **me.writer), cx, &mut **me.buf)
    }
}

/// The maximum number of chunks passed to one vectored write. It bounds the array of slices on the
/// stack.
const CHUNKS_MAX: usize = 64;

/// Makes one write, and advances `buf` by the number of bytes written.
pub(super) fn poll_write_buf<W: AsyncWrite, B: Buf>(
    writer: Pin<&mut W>,
    cx: &mut Context<'_>,
    buf: &mut B,
) -> Poll<io::Result<usize>> {
    let n = if writer.is_write_vectored() {
        let mut slices = [IoSlice::new(&[]); CHUNKS_MAX];
        let count = buf.chunks_vectored(&mut slices);
        ready!(writer.poll_write_vectored(cx, &slices[..count]))?
    } else {
        ready!(writer.poll_write(cx, buf.chunk()))?
    };
    contract::assert_offered(n, buf.remaining());
    buf.advance(n);
    Poll::Ready(Ok(n))
}
