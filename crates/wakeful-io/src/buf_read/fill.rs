use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::traits::AsyncBufRead;

pin_project! {
    /// The future returned by [`AsyncBufReadExt::fill_buf`](crate::AsyncBufReadExt::fill_buf).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct FillBuf<'a, R: ?Sized> {
        reader: Option<&'a mut R>,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, R: ?Sized> FillBuf<'a, R> {
    pub(super) fn new(reader: &'a mut R) -> Self {
        FillBuf { reader: Some(reader), _pin: PhantomPinned }
    }
}

impl<'a, R: AsyncBufRead + Unpin + ?Sized> Future for FillBuf<'a, R> {
    type Output = io::Result<&'a [u8]>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        let reader =
            me.reader.take().expect("the future of `fill_buf` was polled after completion");
        match Pin::new(&mut *reader).poll_fill_buf(cx) {
            Poll::Ready(result) => Poll::Ready(result.map(|bytes| {
                // SAFETY: extends the lifetime of `bytes` to `'a`. They belong to `*reader`, which
                // is borrowed exclusively for `'a`. That borrow was moved out of the future and is
                // not used again, so nothing can access the reader while the bytes are borrowed.
                // (The current borrow checker rejects the safe version, since the other arm of this
                // match puts the borrow back.)
                unsafe { &*(bytes as *const [u8]) }
            })),
            Poll::Pending => {
                *me.reader = Some(reader);
                Poll::Pending
            }
        }
    }
}
