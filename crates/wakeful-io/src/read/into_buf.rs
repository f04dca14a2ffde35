use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::BufMut;
use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::AsyncRead;

pin_project! {
    /// The future returned by [`AsyncReadExt::read_buf`](crate::AsyncReadExt::read_buf).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadIntoBuf<'a, R: ?Sized, B: ?Sized> {
        reader: &'a mut R,
        buf: &'a mut B,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, R: ?Sized, B: ?Sized> ReadIntoBuf<'a, R, B> {
    pub(super) fn new(reader: &'a mut R, buf: &'a mut B) -> Self {
        ReadIntoBuf { reader, buf, _pin: PhantomPinned }
    }
}

impl<R, B> Future for ReadIntoBuf<'_, R, B>
where
    R: AsyncRead + Unpin + ?Sized,
    B: BufMut + ?Sized,
{
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        if !me.buf.has_remaining_mut() {
            return Poll::Ready(Ok(0));
        }
        let reader = Pin::new(&mut **me.reader);
        // SAFETY: `as_uninit_slice_mut` requires that no byte is de-initialized, and the reader
        // gets the slice as a `ReadBuf`, which guarantees that. `poll_read_uninit` is told that
        // zero bytes are initialized, which is always true.
        let n = unsafe {
            let room = me.buf.chunk_mut().as_uninit_slice_mut();
            ready!(contract::poll_read_uninit(reader, cx, room, &mut 0))?
        };
        // SAFETY: `poll_read_uninit` has checked that the first `n` bytes of the chunk are
        // initialized.
        unsafe { me.buf.advance_mut(n) };
        Poll::Ready(Ok(n))
    }
}
