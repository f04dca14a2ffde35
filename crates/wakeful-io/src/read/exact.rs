use std::future::Future;
use std::io::{self, ErrorKind};
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::AsyncRead;

pin_project! {
    /// The future returned by [`AsyncReadExt::read_exact`](crate::AsyncReadExt::read_exact).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadExact<'a, R: ?Sized> {
        reader: &'a mut R,
        buf: &'a mut [u8],
        filled: usize,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadExact<'a, R> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut [u8]) -> Self {
        ReadExact { reader, buf, filled: 0, _pin: PhantomPinned }
    }
}

impl<R: AsyncRead + Unpin + ?Sized> Future for ReadExact<'_, R> {
    type Output = io::Result<usize>;

    // `inline` alone does not make the compiler inline this, and a buffered read takes no longer
    // than the call would.
    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        while *me.filled < me.buf.len() {
            let room = &mut me.buf[*me.filled..];
            let result = ready!(contract::poll_read(Pin::new(&mut **me.reader), cx, room));
            if contract::is_interrupted(&result) {
                continue;
            }
            match result? {
                0 => {
                    let early = io::Error::new(ErrorKind::UnexpectedEof, "early eof");
                    return Poll::Ready(Err(early));
                }
                n => *me.filled += n,
            }
        }
        Poll::Ready(Ok(*me.filled))
    }
}
