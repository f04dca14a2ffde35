use std::future::Future;
use std::io::{self, IoSlice};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::traits::AsyncWrite;

pin_project! {
    /// The future returned by
    /// [`AsyncWriteExt::write_vectored`](crate::AsyncWriteExt::write_vectored).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteVectored<'a, 'b, W: ?Sized> {
        writer: &'a mut W,
        bufs: &'a [IoSlice<'b>],
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, 'b, W: ?Sized> WriteVectored<'a, 'b, W> {
    pub(super) fn new(writer: &'a mut W, bufs: &'a [IoSlice<'b>]) -> Self {
        WriteVectored { writer, bufs, _pin: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for WriteVectored<'_, '_, W> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        Pin::new(&mut **me.writer).poll_write_vectored(cx, me.bufs)
    }
}
