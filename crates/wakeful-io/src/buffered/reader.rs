use std::fmt;
use std::io::{self, SeekFrom};
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;

use crate::traits::forward::forward_write;
use crate::traits::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
use crate::window::{DEFAULT_CAPACITY, Window};

pin_project! {
    /// A reader with a buffer, which makes many small reads cheap.
    ///
    /// `BufReader` fills its buffer with large reads and serves small reads from it. Use it for
    /// many small reads where each read of the inner reader is expensive, as with files and
    /// sockets. Reads at least as large as the buffer bypass it if it is empty. For in-memory
    /// readers it only adds a copy.
    ///
    /// Bytes left in the buffer are lost when the `BufReader` is dropped. Writes go directly to the
    /// inner value.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
    ///
    /// let mut reader = BufReader::new(&b"\x2agreetings\n"[..]);
    /// assert_eq!(reader.read_u8().await?, 42);
    /// let mut line = String::new();
    /// reader.read_line(&mut line).await?;
    /// assert_eq!(line, "greetings\n");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub struct BufReader<R> {
        #[pin]
        pub(super) inner: R,
        pub(super) window: Window,
        pub(super) seek: SeekStep,
    }
}

/// The progress of a seek. The buffer is discarded only once the seek of the inner reader has
/// succeeded, since that seek may fail.
#[derive(Debug, Clone, Copy)]
pub(super) enum SeekStep {
    /// No seek has been started.
    Idle,
    /// The seek was requested; the inner reader does not know of it yet.
    Requested(SeekFrom),
    /// The inner reader seeks back over the buffered bytes, and then by this offset.
    SteppingBack(i64),
    /// The inner reader seeks to the target.
    Underway,
}

impl<R: AsyncRead> BufReader<R> {
    /// Creates a `BufReader` with a buffer of 8 KiB.
    pub fn new(inner: R) -> Self {
        Self::with_capacity(DEFAULT_CAPACITY, inner)
    }

    /// Creates a `BufReader` with a buffer of `capacity` bytes.
    ///
    /// # Panics
    ///
    /// Panics if `capacity` is zero.
    #[track_caller]
    pub fn with_capacity(capacity: usize, inner: R) -> Self {
        assert!(capacity > 0, "capacity must be greater than zero");
        BufReader { inner, window: Window::new(capacity), seek: SeekStep::Idle }
    }

    /// Returns a reference to the inner reader.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// Returns a mutable reference to the inner reader, which is ahead by the buffered bytes.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// Returns a pinned reference to the inner reader, which is ahead by the buffered bytes.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// Returns the inner reader. Buffered bytes are lost.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// Returns the buffered bytes.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncBufReadExt, BufReader};
    ///
    /// let mut reader = BufReader::new(&b"head\nbody"[..]);
    /// let mut line = String::new();
    /// reader.read_line(&mut line).await?;
    /// let read_ahead = reader.buffer().to_vec(); // would be lost by `into_inner`
    /// assert_eq!(read_ahead, b"body");
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    pub fn buffer(&self) -> &[u8] {
        self.window.bytes()
    }

    /// Serves a read that asks for at least as many bytes as are buffered.
    #[inline(never)]
    fn poll_read_slow(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.window.is_empty() && buf.remaining() >= self.window.capacity() {
            return self.get_pin_mut().poll_read(cx, buf);
        }
        let bytes = ready!(self.as_mut().poll_fill_buf(cx))?;
        let n = bytes.len().min(buf.remaining());
        buf.put_slice(&bytes[..n]);
        self.consume(n);
        Poll::Ready(Ok(()))
    }
}

impl<R: AsyncRead> AsyncRead for BufReader<R> {
    // Kept small for inlining: if the length of `buf` is known at compile time, as for a number,
    // copying the bytes takes no call to `memcpy`.
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if let Some(bytes) = self.as_mut().project().window.take_front(buf.remaining()) {
            buf.put_slice(bytes);
            return Poll::Ready(Ok(()));
        }
        self.poll_read_slow(cx, buf)
    }
}

impl<R: AsyncRead> AsyncBufRead for BufReader<R> {
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        let me = self.project();
        if me.window.is_empty() {
            ready!(me.window.poll_fill(me.inner, cx))?;
        }
        Poll::Ready(Ok(me.window.bytes()))
    }

    fn consume(self: Pin<&mut Self>, amt: usize) {
        self.project().window.consume(amt);
    }
}

/// Seeks relative to the position that callers observe, as if there was no buffer.
///
/// Every seek discards the buffer, even if the target is inside it. After the seek, the inner
/// reader is at the same position as the `BufReader`.
///
/// If the offset from the inner reader's position does not fit an `i64`, the seek takes two steps.
/// If the second step fails, the inner reader is at the position that callers observed before.
impl<R: AsyncRead + AsyncSeek> AsyncSeek for BufReader<R> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        // This may take several seeks of the inner reader, and only `poll_complete` can wait.
        *self.project().seek = SeekStep::Requested(position);
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let mut me = self.project();
        // An error ends the seek, so the step is stored again only if the seek has to wait.
        let mut step = mem::replace(me.seek, SeekStep::Idle);
        loop {
            step = match step {
                SeekStep::Idle => return me.inner.poll_complete(cx),
                SeekStep::Requested(SeekFrom::Current(n)) => {
                    // No allocation is longer than `i64::MAX`.
                    let ahead = me.window.len() as i64;
                    let (offset, next) = match n.checked_sub(ahead) {
                        Some(offset) => (offset, SeekStep::Underway),
                        None => (-ahead, SeekStep::SteppingBack(n)),
                    };
                    me.inner.as_mut().start_seek(SeekFrom::Current(offset))?;
                    next
                }
                SeekStep::Requested(position) => {
                    me.inner.as_mut().start_seek(position)?;
                    SeekStep::Underway
                }
                SeekStep::SteppingBack(_) | SeekStep::Underway => {
                    let Poll::Ready(position) = me.inner.as_mut().poll_complete(cx)? else {
                        *me.seek = step;
                        return Poll::Pending;
                    };
                    me.window.clear();
                    let SeekStep::SteppingBack(n) = step else {
                        return Poll::Ready(Ok(position));
                    };
                    me.inner.as_mut().start_seek(SeekFrom::Current(n))?;
                    SeekStep::Underway
                }
            };
        }
    }
}

impl<R: AsyncRead + AsyncWrite> AsyncWrite for BufReader<R> {
    forward_write!(self => self.get_pin_mut(), & => self.inner);
}

impl<R: fmt::Debug> fmt::Debug for BufReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufReader")
            .field("reader", &self.inner)
            .field("buffer", &self.window)
            .finish()
    }
}
