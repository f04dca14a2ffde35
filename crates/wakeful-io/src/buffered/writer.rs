use std::fmt;
use std::io::{self, ErrorKind, IoSlice, SeekFrom};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::contract;
use crate::traits::forward::{forward_buf_read, forward_read};
use crate::traits::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite};
use crate::window::DEFAULT_CAPACITY;

pin_project! {
    /// A writer with a buffer, which makes many small writes cheap.
    ///
    /// `BufWriter` collects small writes in its buffer and forwards them in large ones. Use it for
    /// many small writes where each write of the inner writer is expensive, as with files and
    /// sockets. Writes at least as large as the buffer bypass it. For in-memory writers it only
    /// adds a copy.
    ///
    /// **Flush it** before dropping it: bytes left in the buffer are lost. Reads go directly to the
    /// inner value.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncWriteExt, BufWriter};
    ///
    /// let mut writer = BufWriter::new(Vec::new());
    /// for n in 1..=3 {
    ///     writer.write_u8(n).await?;
    /// }
    /// assert_eq!(writer.buffer(), [1, 2, 3]);
    /// writer.flush().await?;
    /// assert_eq!(writer.into_inner(), [1, 2, 3]);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub struct BufWriter<W> {
        #[pin]
        pub(super) inner: W,
        pub(super) buf: Vec<u8>,
        // How many bytes of `buf` an unfinished flush has written to `inner`.
        pub(super) written: usize,
        pub(super) seek: SeekStep,
    }
}

/// The progress of a seek.
#[derive(Debug, Clone, Copy)]
pub(super) enum SeekStep {
    /// No seek has been started.
    Idle,
    /// The seek was requested. The buffer must be written to the inner writer first.
    Requested(SeekFrom),
    /// The inner writer seeks to the target.
    Underway,
}

impl<W: AsyncWrite> BufWriter<W> {
    /// Creates a `BufWriter` with a buffer of 8 KiB.
    pub fn new(inner: W) -> Self {
        Self::with_capacity(DEFAULT_CAPACITY, inner)
    }

    /// Creates a `BufWriter` with a buffer of `cap` bytes.
    pub fn with_capacity(cap: usize, inner: W) -> Self {
        BufWriter { inner, buf: Vec::with_capacity(cap), written: 0, seek: SeekStep::Idle }
    }

    /// Returns a reference to the inner writer.
    pub fn get_ref(&self) -> &W {
        &self.inner
    }

    /// Returns a mutable reference to the inner writer. Bytes written to it directly overtake the
    /// buffered bytes.
    pub fn get_mut(&mut self) -> &mut W {
        &mut self.inner
    }

    /// Returns a pinned reference to the inner writer. Bytes written to it directly overtake the
    /// buffered bytes.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }

    /// Returns the inner writer. Buffered bytes are lost.
    pub fn into_inner(self) -> W {
        self.inner
    }

    /// Returns the buffered bytes.
    pub fn buffer(&self) -> &[u8] {
        &self.buf
    }

    /// Writes the buffer to the inner writer. After an error, the unwritten bytes are still
    /// buffered.
    fn poll_flush_buffer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut me = self.project();
        let mut outcome = Ok(());
        while *me.written < me.buf.len() {
            let rest = &me.buf[*me.written..];
            match ready!(contract::poll_write(me.inner.as_mut(), cx, rest)) {
                Ok(0) => {
                    let text = "failed to write the buffered data";
                    outcome = Err(io::Error::new(ErrorKind::WriteZero, text));
                    break;
                }
                Ok(n) => *me.written += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    outcome = Err(e);
                    break;
                }
            }
        }
        me.buf.drain(..*me.written);
        *me.written = 0;
        Poll::Ready(outcome)
    }

    /// Writes the buffer to the inner writer unless `len` more bytes fit.
    fn poll_make_room(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        len: usize,
    ) -> Poll<io::Result<()>> {
        if len > self.buf.capacity() - self.buf.len() {
            ready!(self.poll_flush_buffer(cx))?;
        }
        Poll::Ready(Ok(()))
    }

    /// Handles a write that needs all the room in the buffer, or more.
    #[inline(never)]
    fn poll_write_slow(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.as_mut().poll_make_room(cx, buf.len()))?;
        let me = self.project();
        if buf.len() >= me.buf.capacity() {
            return me.inner.poll_write(cx, buf);
        }
        me.buf.extend_from_slice(buf);
        Poll::Ready(Ok(buf.len()))
    }

    /// Buffers all of `bufs`, or forwards them in one vectored write.
    fn poll_write_together(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let len = bufs.iter().fold(0usize, |sum, buf| sum.saturating_add(buf.len()));
        ready!(self.as_mut().poll_make_room(cx, len))?;
        let me = self.project();
        if len >= me.buf.capacity() {
            return me.inner.poll_write_vectored(cx, bufs);
        }
        bufs.iter().for_each(|buf| me.buf.extend_from_slice(buf));
        Poll::Ready(Ok(len))
    }

    /// Buffers as many whole slices as fit, or forwards the first one.
    fn poll_write_one_by_one(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut bufs = bufs.iter().skip_while(|buf| buf.is_empty());
        let Some(first) = bufs.next() else {
            return Poll::Ready(Ok(0));
        };
        ready!(self.as_mut().poll_make_room(cx, first.len()))?;
        let me = self.project();
        if first.len() >= me.buf.capacity() {
            return me.inner.poll_write(cx, first);
        }
        let before = me.buf.len();
        me.buf.extend_from_slice(first);
        for buf in bufs {
            if buf.len() > me.buf.capacity() - me.buf.len() {
                break;
            }
            me.buf.extend_from_slice(buf);
        }
        Poll::Ready(Ok(me.buf.len() - before))
    }
}

impl<W: AsyncWrite> AsyncWrite for BufWriter<W> {
    // Kept small for inlining: if the length of `buf` is known at compile time, as for a number,
    // copying the bytes takes no call to `memcpy`.
    #[inline]
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let me = self.as_mut().project();
        if buf.len() < me.buf.capacity() - me.buf.len() {
            me.buf.extend_from_slice(buf);
            return Poll::Ready(Ok(buf.len()));
        }
        self.poll_write_slow(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.inner.is_write_vectored() {
            self.poll_write_together(cx, bufs)
        } else {
            self.poll_write_one_by_one(cx, bufs)
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush_buffer(cx))?;
        self.get_pin_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush_buffer(cx))?;
        self.get_pin_mut().poll_shutdown(cx)
    }
}

/// Writes the buffer to the inner writer, and then seeks.
impl<W: AsyncWrite + AsyncSeek> AsyncSeek for BufWriter<W> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        // Writing the buffer may have to wait, and only `poll_complete` can.
        *self.project().seek = SeekStep::Requested(position);
        Ok(())
    }

    fn poll_complete(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let requested = match self.seek {
            SeekStep::Idle => return self.project().inner.poll_complete(cx),
            SeekStep::Requested(position) => Some(position),
            SeekStep::Underway => None,
        };
        ready!(self.as_mut().poll_flush_buffer(cx))?;
        let mut me = self.project();
        if let Some(position) = requested {
            // A seek that an earlier caller started on the inner writer may not have completed.
            ready!(me.inner.as_mut().poll_complete(cx))?;
            *me.seek = SeekStep::Idle;
            me.inner.as_mut().start_seek(position)?;
        }
        let result = me.inner.poll_complete(cx);
        *me.seek = if result.is_ready() { SeekStep::Idle } else { SeekStep::Underway };
        result
    }
}

impl<W: AsyncWrite + AsyncRead> AsyncRead for BufWriter<W> {
    forward_read!(self => self.get_pin_mut());
}

impl<W: AsyncWrite + AsyncBufRead> AsyncBufRead for BufWriter<W> {
    forward_buf_read!(self => self.get_pin_mut());
}

impl<W: fmt::Debug> fmt::Debug for BufWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufWriter")
            .field("writer", &self.inner)
            .field("buffer", &format_args!("{}/{}", self.buf.len(), self.buf.capacity()))
            .field("written", &self.written)
            .finish()
    }
}
