use std::future::Future;
use std::io::{self, ErrorKind};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf;
use pin_project_lite::pin_project;

use super::from_buf::poll_write_buf;
use crate::contract;
use crate::traits::AsyncWrite;

pin_project! {
    /// The future returned by
    /// [`AsyncWriteExt::write_all_buf`](crate::AsyncWriteExt::write_all_buf).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteAllBuf<'a, W, B> {
        writer: &'a mut W,
        buf: &'a mut B,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, W, B> WriteAllBuf<'a, W, B> {
    pub(super) fn new(writer: &'a mut W, buf: &'a mut B) -> Self {
        WriteAllBuf { writer, buf, _pin: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin, B: Buf> Future for WriteAllBuf<'_, W, B> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        while me.buf.has_remaining() {
            let result = ready!(poll_write_buf(Pin::new(&mut **me.writer), cx, &mut **me.buf));
            if !contract::is_interrupted(&result) && result? == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
        }
        Poll::Ready(Ok(()))
    }
}
