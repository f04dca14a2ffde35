use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::{AsyncBufRead, AsyncRead, ReadBuf};

pin_project! {
    /// The first so many bytes of a reader.
    ///
    /// Made by [`AsyncReadExt::take`](crate::AsyncReadExt::take).
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
    /// packet.set_limit(2); // the next one
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

    /// How many bytes may still be read. The reader may have fewer.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Sets how many bytes may be read from now on, whatever has been read before.
    pub fn set_limit(&mut self, limit: u64) {
        self.limit = limit;
    }

    /// The reader.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The reader, to be changed. What is read from it here does not count.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The reader, pinned. What is read from it here does not count.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// The reader, without a limit.
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
        // At the limit the reader is left alone: it might wait for what nobody wants.
        if *me.limit == 0 {
            return Poll::Ready(Ok(()));
        }
        let room_len = usize::try_from(*me.limit).unwrap_or(usize::MAX).min(buf.remaining());
        // What is known to be initialized is passed on, so that no reader zeroes it again.
        let mut initialized = (buf.initialized().len() - buf.filled().len()).min(room_len);
        // SAFETY: readers get the slice as a `ReadBuf`, which undoes no initialization.
        let room = unsafe { &mut buf.unfilled_mut()[..room_len] };
        // SAFETY: as many bytes after the filled ones are initialized.
        let result = unsafe { contract::poll_read_uninit(me.inner, cx, room, &mut initialized) };
        // SAFETY: that is what `initialized` says now, and these are the first unfilled bytes.
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
