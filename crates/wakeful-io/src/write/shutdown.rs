use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::traits::AsyncWrite;

pin_project! {
    /// The future returned by [`AsyncWriteExt::shutdown`](crate::AsyncWriteExt::shutdown).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct Shutdown<'a, W: ?Sized> {
        writer: &'a mut W,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, W: ?Sized> Shutdown<'a, W> {
    pub(super) fn new(writer: &'a mut W) -> Self {
        Shutdown { writer, _pin: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for Shutdown<'_, W> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut **self.project().writer).poll_shutdown(cx)
    }
}
