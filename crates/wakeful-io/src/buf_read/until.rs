use std::future::Future;
use std::io;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::search;
use crate::traits::AsyncBufRead;

pin_project! {
    /// The future returned by [`AsyncBufReadExt::read_until`](crate::AsyncBufReadExt::read_until).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless you `.await` or poll them"]
    pub struct ReadUntil<'a, R: ?Sized> {
        reader: &'a mut R,
        delimiter: u8,
        buf: &'a mut Vec<u8>,
        starting_len: usize,
        #[pin]
        _pin: PhantomPinned,
    }
}

impl<'a, R: ?Sized> ReadUntil<'a, R> {
    pub(super) fn new(reader: &'a mut R, delimiter: u8, buf: &'a mut Vec<u8>) -> Self {
        ReadUntil { reader, delimiter, starting_len: buf.len(), buf, _pin: PhantomPinned }
    }
}

impl<R: AsyncBufRead + Unpin + ?Sized> Future for ReadUntil<'_, R> {
    type Output = io::Result<usize>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let me = self.project();
        let reader = Pin::new(&mut **me.reader);
        ready!(poll_read_until(reader, cx, *me.delimiter, me.buf))?;
        Poll::Ready(Ok(me.buf.len() - *me.starting_len))
    }
}

/// Reads up to and including the next delimiter, or to the end, and appends the bytes to `buf`.
pub(super) fn poll_read_until<R: AsyncBufRead + ?Sized>(
    mut reader: Pin<&mut R>,
    cx: &mut Context<'_>,
    delimiter: u8,
    buf: &mut Vec<u8>,
) -> Poll<io::Result<()>> {
    loop {
        let result = ready!(reader.as_mut().poll_fill_buf(cx));
        if contract::is_interrupted(&result) {
            continue;
        }
        let available = result?;
        let found = search::position(delimiter, available);
        let used = found.map_or(available.len(), |at| at + 1);
        let bytes = &available[..used];
        if buf.capacity() > 0 {
            buf.extend_from_slice(bytes);
        } else {
            // Always the case in `lines`: an exact allocation is cheaper than growing the vector.
            *buf = bytes.to_vec();
        }
        reader.as_mut().consume(used);
        if found.is_some() || used == 0 {
            return Poll::Ready(Ok(()));
        }
    }
}
