use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::traits::AsyncBufRead;

pin_project! {
    /// The future of [`AsyncBufReadExt::fill_buf`](crate::AsyncBufReadExt::fill_buf).
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
        let reader = me.reader.take().expect("the future of fill_buf was polled after it was done");
        match Pin::new(&mut *reader).poll_fill_buf(cx) {
            Poll::Ready(result) => Poll::Ready(result.map(|bytes| {
                // SAFETY: the bytes belong to `*reader`, which is borrowed for `'a`. That borrow
                // was taken out of the future and ends here, so nobody can use it beside the bytes.
                // (The borrow checker would see it if one arm of a match could return what another
                // gives up.)
                unsafe { &*(bytes as *const [u8]) }
            })),
            Poll::Pending => {
                *me.reader = Some(reader);
                Poll::Pending
            }
        }
    }
}
