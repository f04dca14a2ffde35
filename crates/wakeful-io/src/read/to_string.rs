use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use super::to_end::VecGrowth;
use crate::text::{OnError, TextBuffer};
use crate::traits::AsyncRead;

pin_project! {
    /// The future returned by
    /// [`AsyncReadExt::read_to_string`](crate::AsyncReadExt::read_to_string).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadToString<'a, R: ?Sized> {
        reader: &'a mut R,
        text: TextBuffer<'a>,
        growth: VecGrowth,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadToString<'a, R> {
    pub(super) fn new(reader: &'a mut R, output: &'a mut String) -> Self {
        let text = TextBuffer::new(output);
        ReadToString { reader, growth: VecGrowth::of(&text.bytes), text, _pin: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadToString<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        let reader = Pin::new(&mut **me.reader);
        // SAFETY: `growth` was created for these bytes. Only this call modifies them until `finish`
        // takes them, which leaves a vector without allocated memory.
        let result = ready!(unsafe { me.growth.poll_read_to_end(reader, cx, &mut me.text.bytes) });
        Poll::Ready(me.text.finish(result.map(drop), OnError::Restore))
    }
}
