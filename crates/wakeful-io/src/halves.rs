//! [`split`], which divides a stream into two halves that different tasks can use.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::traits::{AsyncRead, AsyncWrite, ReadBuf};

/// The reading half of a stream, created by [`split`].
///
/// ```
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, mut far) = duplex(64);
/// let (mut reader, _writer) = split(near);
/// let task = wakeful::spawn(async move { reader.read_u8().await });
/// far.write_u8(42).await?;
/// assert_eq!(task.await??, 42);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct ReadHalf<T> {
    whole: Arc<SharedStream<T>>,
}

/// The writing half of a stream, created by [`split`].
///
/// ```
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, mut far) = duplex(64);
/// let (_reader, mut writer) = split(near);
/// let task = wakeful::spawn(async move {
///     writer.write_u8(42).await?;
///     writer.shutdown().await // dropping a half does not shut the stream down
/// });
/// assert_eq!(far.read_u8().await?, 42);
/// assert_eq!(far.read(&mut [0]).await?, 0);
/// task.await??;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct WriteHalf<T> {
    whole: Arc<SharedStream<T>>,
}

/// The stream that both halves share. It never moves while a half exists, since polls pin it.
///
/// The lock is std's because a panic poisons it: polls run under the lock, and the stream should
/// not be used after a poll that panicked.
struct SharedStream<T> {
    stream: Mutex<T>,
    is_write_vectored: bool,
}

/// Splits a stream into a reading and a writing half.
///
/// Each poll of a half locks the stream. The stream calls and clones wakers under that lock, so a
/// waker that polls the other half itself, instead of scheduling a task, deadlocks.
/// [`ReadHalf::unsplit`] puts the halves together again. The stream is dropped when both halves are
/// dropped.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// let (near, mut far) = duplex(64);
/// let (mut reader, mut writer) = split(near);
/// far.write_all(b"ping").await?;
///
/// let mut buf = [0; 4];
/// reader.read_exact(&mut buf).await?;
/// writer.write_all(b"pong").await?;
/// assert_eq!(&buf, b"ping");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn split<T>(stream: T) -> (ReadHalf<T>, WriteHalf<T>)
where
    T: AsyncRead + AsyncWrite,
{
    let is_write_vectored = stream.is_write_vectored();
    let whole = Arc::new(SharedStream { stream: Mutex::new(stream), is_write_vectored });
    (ReadHalf { whole: whole.clone() }, WriteHalf { whole })
}

impl<T> SharedStream<T> {
    fn with<R>(&self, f: impl FnOnce(Pin<&mut T>) -> R) -> R {
        let mut stream = self.stream.lock().expect("a poll of one half of this stream panicked");
        // SAFETY: a pinned value must not move until it is dropped. The stream lives in an `Arc`,
        // which drops it in place; only `unsplit` moves it out, and that requires `T: Unpin`.
        f(unsafe { Pin::new_unchecked(&mut *stream) })
    }
}

impl<T> ReadHalf<T> {
    /// Returns whether both halves belong to the same stream.
    pub fn is_pair_of(&self, other: &WriteHalf<T>) -> bool {
        Arc::ptr_eq(&self.whole, &other.whole)
    }

    /// Puts the halves together again.
    ///
    /// # Panics
    ///
    /// Panics if the halves do not belong to the same stream. [`is_pair_of`](Self::is_pair_of)
    /// checks this.
    ///
    /// ```
    /// use wakeful::io::{duplex, split};
    ///
    /// let (one, other) = (split(duplex(1).0), split(duplex(1).0));
    /// assert!(one.0.is_pair_of(&one.1) && !one.0.is_pair_of(&other.1));
    /// let (reader, writer) = one;
    /// let _stream = reader.unsplit(writer);
    /// ```
    #[track_caller]
    pub fn unsplit(self, wr: WriteHalf<T>) -> T
    where
        T: Unpin,
    {
        assert!(
            self.is_pair_of(&wr),
            "Unrelated `split::Write` passed to `split::Read::unsplit`. \
             The halves must come from one call of split(); is_pair_of() checks this"
        );
        drop(wr);
        let whole = Arc::into_inner(self.whole).expect("a stream has exactly two halves");
        whole.stream.into_inner().expect("a poll of one half of this stream panicked")
    }
}

impl<T> WriteHalf<T> {
    /// Returns whether both halves belong to the same stream.
    pub fn is_pair_of(&self, other: &ReadHalf<T>) -> bool {
        other.is_pair_of(self)
    }
}

impl<T: AsyncRead> AsyncRead for ReadHalf<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.whole.with(|stream| stream.poll_read(cx, buf))
    }
}

impl<T: AsyncWrite> AsyncWrite for WriteHalf<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.whole.with(|stream| stream.poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.whole.with(|stream| stream.poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        self.whole.is_write_vectored
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.whole.with(|stream| stream.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.whole.with(|stream| stream.poll_shutdown(cx))
    }
}

// SAFETY: a shared reference to a half gives no access to the stream: it allows comparing pointers
// and reading `is_write_vectored`, which never changes. (Without this impl the `Mutex` would
// require `T: Send`, where Tokio requires `T: Sync`.)
unsafe impl<T: Sync> Sync for ReadHalf<T> {}
// SAFETY: as for `ReadHalf`.
unsafe impl<T: Sync> Sync for WriteHalf<T> {}

impl<T: fmt::Debug> fmt::Debug for ReadHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("split::ReadHalf").finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for WriteHalf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("split::WriteHalf").finish()
    }
}
