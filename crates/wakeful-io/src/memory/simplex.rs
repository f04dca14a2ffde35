use std::fmt;
use std::io::{self, IoSlice};
use std::iter;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::budget;

use super::pipe::{DeferredWakers, Pipe, Side};
use crate::halves::{ReadHalf, WriteHalf, split};
use crate::traits::{AsyncRead, AsyncWrite, ReadBuf};

/// An in-memory pipe: bytes written to it can be read from it.
///
/// [`simplex`] creates a pipe that is split in two halves, and [`new_unsplit`](Self::new_unsplit)
/// one that is not.
///
/// After a [shutdown](crate::AsyncWriteExt::shutdown) the reader reaches the end of the stream, and
/// writes fail with [`BrokenPipe`](io::ErrorKind::BrokenPipe). Dropping only one half has neither
/// effect.
///
/// ```
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, SimplexStream};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut pipe = SimplexStream::new_unsplit(64);
/// pipe.write_all(b"there").await?;
/// pipe.write_all(b" and back").await?;
/// pipe.shutdown().await?;
/// let mut text = String::new();
/// pipe.read_to_string(&mut text).await?;
/// assert_eq!(text, "there and back");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct SimplexStream {
    pipe: Pipe,
}

/// Creates an in-memory pipe and returns its reading and its writing half.
///
/// The pipe holds at most `max_buf_size` unread bytes. Writes wait when it is full.
///
/// The halves are those of [`split`]: a waker that polls the other half itself deadlocks.
///
/// # Panics
///
/// Panics if `max_buf_size` is zero.
///
/// # Examples
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, simplex};
///
/// let (mut receiver, mut sender) = simplex(64);
/// sender.write_all(b"ping").await?;
///
/// let mut buf = [0; 4];
/// receiver.read_exact(&mut buf).await?;
/// assert_eq!(&buf, b"ping");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[track_caller]
pub fn simplex(max_buf_size: usize) -> (ReadHalf<SimplexStream>, WriteHalf<SimplexStream>) {
    split(SimplexStream::new_unsplit(max_buf_size))
}

impl SimplexStream {
    /// Creates an in-memory pipe that is not split.
    ///
    /// The pipe holds at most `max_buf_size` unread bytes. Writes wait when it is full.
    ///
    /// # Panics
    ///
    /// Panics if `max_buf_size` is zero.
    #[track_caller]
    pub fn new_unsplit(max_buf_size: usize) -> SimplexStream {
        SimplexStream { pipe: Pipe::new(max_buf_size) }
    }
}

impl AsyncRead for SimplexStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let unit = ready!(budget::poll_proceed(cx));
        ready!(self.pipe.poll(Side::Reader, cx, |pipe, deferred| pipe.read(buf, deferred)));
        unit.made_progress();
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for SimplexStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let unit = ready!(budget::poll_proceed(cx));
        let result =
            ready!(self.pipe.poll(Side::Writer, cx, |pipe, deferred| {
                pipe.write(iter::once(buf), deferred)
            }));
        unit.made_progress();
        Poll::Ready(result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let unit = ready!(budget::poll_proceed(cx));
        let bufs = bufs.iter().map(Deref::deref);
        let result = ready!(
            self.pipe.poll(Side::Writer, cx, |pipe, deferred| { pipe.write(bufs, deferred) })
        );
        unit.made_progress();
        Poll::Ready(result)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.pipe.close_by_writer(&mut DeferredWakers::default());
        Poll::Ready(Ok(()))
    }
}

impl fmt::Debug for SimplexStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimplexStream").field("pipe", &self.pipe.state()).finish()
    }
}
