use std::future::Future;
use std::io::{self, ErrorKind};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::AsyncWrite;

pin_project! {
    /// The future returned by [`AsyncWriteExt::write_all`](crate::AsyncWriteExt::write_all).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct WriteAll<'a, W: ?Sized> {
        writer: &'a mut W,
        rest: &'a [u8],
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, W: ?Sized> WriteAll<'a, W> {
    pub(super) fn new(writer: &'a mut W, buf: &'a [u8]) -> Self {
        WriteAll { writer, rest: buf, _pin: PhantomPinned }
    }
}

impl<W: AsyncWrite + Unpin + ?Sized> Future for WriteAll<'_, W> {
    type Output = io::Result<()>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        while !me.rest.is_empty() {
            let result = ready!(contract::poll_write(Pin::new(&mut **me.writer), cx, me.rest));
            if contract::is_interrupted(&result) {
                continue;
            }
            match result? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                n => *me.rest = &me.rest[n..],
            }
        }
        Poll::Ready(Ok(()))
    }
}
