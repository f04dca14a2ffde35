use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::until::poll_read_until;
use crate::text::{OnError, TextBuffer};
use crate::traits::AsyncBufRead;

pin_project! {
    /// The future returned by [`AsyncBufReadExt::read_line`](crate::AsyncBufReadExt::read_line).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadLine<'a, R: ?Sized> {
        reader: &'a mut R,
        text: TextBuffer<'a>,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadLine<'a, R> {
    pub(super) fn new(reader: &'a mut R, output: &'a mut String) -> Self {
        ReadLine { reader, text: TextBuffer::new(output), _pin: PhantomPinned }
    }
}

impl<R: AsyncBufRead + Unpin + ?Sized> Future for ReadLine<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        let reader = Pin::new(&mut **me.reader);
        let result = ready!(poll_read_until(reader, cx, b'\n', &mut me.text.bytes));
        Poll::Ready(me.text.finish(result, OnError::Keep))
    }
}
