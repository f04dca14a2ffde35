use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::{AsyncBufRead, AsyncRead, ReadBuf};

pin_project! {
    /// A reader that ends after a number of bytes of another reader.
    ///
    /// Created by [`AsyncReadExt::take`](crate::AsyncReadExt::take).
    ///
    /// ```
    /// use wakeful::io::AsyncReadExt;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut packet = (&b"abcdefgh"[..]).take(3);
    /// let mut bytes = Vec::new();
    /// packet.read_to_end(&mut bytes).await?;
    /// assert_eq!((bytes.as_slice(), packet.limit()), (&b"abc"[..], 0));
    ///
    /// packet.set_limit(2); // the next packet
    /// bytes.clear();
    /// packet.read_to_end(&mut bytes).await?;
    /// assert_eq!(bytes, b"de");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    #[derive(Debug)]
    #[must_use = "streams do nothing unless you `.await` or poll them"]
    pub struct Take<R> {
        #[pin]
        inner: R,
        limit: u64,
    }
}

impl<R: AsyncRead> Take<R> {
    pub(super) fn new(inner: R, limit: u64) -> Self {
        Take { inner, limit }
    }

    /// Returns how many bytes may still be read. The inner reader may have fewer.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets how many bytes may be read from now on, regardless of how many have been read.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// Returns a reference to the inner reader.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns a mutable reference to the inner reader. Bytes read from it directly do not count.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns a pinned reference to the inner reader. Bytes read from it directly do not count.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Returns the inner reader.
    pub fn into_inner(self) -> R {
        self.inner
    }
}

impl<R: AsyncRead> AsyncRead for Take<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let me = self.project();
        // At the limit the inner reader is not polled: it could wait for bytes that are not wanted.
        if *me.limit == 0 {
            return Poll::Ready(Ok(()));
        }
        let room_len = usize::try_from(*me.limit).unwrap_or(usize::MAX).min(buf.remaining());
        // The inner reader is told how many bytes are initialized, so that it does not zero them
        // again.
        let mut initialized = (buf.initialized().len() - buf.filled().len()).min(room_len);
        // SAFETY: `unfilled_mut` requires that no byte is de-initialized. The reader gets the slice
        // as a `ReadBuf`, which guarantees that.
        let room = unsafe { &mut buf.unfilled_mut()[..room_len] };
        // SAFETY: `buf` has this many initialized bytes after its filled part, which is where
        // `room` starts.
        let result = unsafe { contract::poll_read_uninit(me.inner, cx, room, &mut initialized) };
        // SAFETY: `poll_read_uninit` has updated `initialized`, which counts from the start of
        // `room`, the start of the unfilled part.
        unsafe { buf.assume_init(initialized) };
        let n = ready!(result)?;
        buf.advance(n);
        *me.limit -= n as u64;
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncBufRead> AsyncBufRead for Take<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let me = self.project();
        if *me.limit == 0 {
            return Poll::Ready(Ok(&[]));
        }
        let bytes = ready!(me.inner.poll_fill_buf(cx))?;
        Poll::Ready(Ok(&bytes[..clamp_to_limit(*me.limit, bytes.len())]))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        let me = self.project();
        let amt = clamp_to_limit(*me.limit, amt);
        *me.limit -= amt as u64;
        me.inner.consume(amt);
    }
}

fn clamp_to_limit(limit: u64, n: usize) -> usize {
    usize::try_from(limit).map_or(n, |limit| n.min(limit))
}
