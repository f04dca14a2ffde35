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
    /// Reads ahead in large steps, so that small reads are cheap.
    ///
    /// Worth it where a read of the reader inside is dear, as with files and sockets, and many
    /// small ones are made. Reads as large as the buffer go past it. In memory it only costs.
    ///
    /// What was read ahead is lost when this is dropped. Writes go straight to the reader inside.
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

/// How far a seek has come. The buffer is thrown away when it is done, not before: it may fail.
#[derive(Debug, Clone, Copy)]
pub(super) enum SeekStep {
    /// There is none.
    Idle,
    /// Asked for.
    Requested(SeekFrom),
    /// On its way back over what was read ahead, then to go this far from there.
    SteppingBack(i64),
    /// On its way to where it was asked to go.
    Underway,
}

impl<R: AsyncRead> BufReader<R> {
    /// With a buffer of 8 KiB.
    pub fn new(inner: R) -> Self {
        Self::with_capacity(DEFAULT_CAPACITY, inner)
    }

    /// With a buffer of `capacity` bytes.
    ///
    /// # Panics
    ///
    /// If `capacity` is zero.
    #[track_caller]
    pub fn with_capacity(capacity: usize, inner: R) -> Self {
        assert!(capacity > 0, "capacity must be greater than zero");
        BufReader { inner, window: Window::new(capacity), seek: SeekStep::Idle }
    }

    /// The reader inside.
    pub fn get_ref(&self) -> &R {
        &self.inner
    }

    /// The reader inside, to be changed. It has been read further than it seems.
    pub fn get_mut(&mut self) -> &mut R {
        &mut self.inner
    }

    /// The reader inside, pinned. It has been read further than it seems.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }

    /// The reader inside. What was read ahead is lost.
    pub fn into_inner(self) -> R {
        self.inner
    }

    /// What was read ahead.
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

    /// A read of all that is in the buffer, or of more.
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
    // Small, and inlined: where it is known how long `buf` is, as for a number, the bytes are
    // copied without a call.
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

/// Seeks from where the reader seems to be, as if there was no buffer.
///
/// What was read ahead is thrown away by any seek, also one that leads to what is in the buffer;
/// after it the reader inside is where this one is.
///
/// If the way from the position of the reader inside does not fit an `i64`, it is gone in two
/// steps. If the second one fails, the reader inside is where this one seemed to be.
impl<R: AsyncRead + AsyncSeek> AsyncSeek for BufReader<R> {
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        // It may take several seeks of the reader inside, and only `poll_complete` can wait for
        // them.
        *self.project().seek = SeekStep::Requested(position);
        Ok(())
    }

    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        let mut me = self.project();
        // An error ends the seek: the step is put back only where there is something to wait for.
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
