//! One stream in two halves, that can go to two tasks.

use std::fmt;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use crate::traits::{AsyncRead, AsyncWrite, ReadBuf};

/// The half to read from; see [`split`].
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

/// The half to write to; see [`split`].
///
/// ```
/// use wakeful::io::{AsyncReadExt, AsyncWriteExt, duplex, split};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (near, mut far) = duplex(64);
/// let (_reader, mut writer) = split(near);
/// let task = wakeful::spawn(async move {
///     writer.write_u8(42).await?;
///     writer.shutdown().await // dropping a half does not
/// });
/// assert_eq!(far.read_u8().await?, 42);
/// assert_eq!(far.read(&mut [0]).await?, 0);
/// task.await??;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub struct WriteHalf<T> {
    whole: Arc<SharedStream<T>>,
}

/// What both halves refer to. It is never moved while there are halves, since it may be pinned.
///
/// The lock is std's, with its poisoning: polls run inside it, and one that panicked leaves a
/// stream that nobody should go on with.
struct SharedStream<T> {
    stream: Mutex<T>,
    is_write_vectored: bool,
}

/// Splits a stream into a half that reads and a half that writes.
///
/// The halves take turns by a lock around each poll. The stream calls and clones wakers under that lock: a waker
/// that polls the other half itself, instead of scheduling a task, deadlocks. [`ReadHalf::unsplit`] puts the halves
/// together again. The stream is dropped with the second of them.
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
        // SAFETY: the stream lies in an `Arc`. It leaves it by `unsplit` only, if it is `Unpin`.
        f(unsafe { Pin::new_unchecked(&mut *stream) })
    }
}

impl<T> ReadHalf<T> {
    /// Whether both halves are of one stream.
    pub fn is_pair_of(&self, other: &WriteHalf<T>) -> bool {
        Arc::ptr_eq(&self.whole, &other.whole)
    }

    /// Puts the halves together again.
    ///
    /// # Panics
    ///
    /// If they are not of one stream, which [`is_pair_of`](Self::is_pair_of) tells before.
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
             The halves must come from one call of split(); is_pair_of() tells"
        );
        drop(wr);
        let whole = Arc::into_inner(self.whole).expect("there are but two halves");
        whole.stream.into_inner().expect("a poll of one half of this stream panicked")
    }
}

impl<T> WriteHalf<T> {
    /// Whether both halves are of one stream.
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

// SAFETY: a shared reference to a half gives no access to the stream, so nothing of it is used by
// two threads. (Without this the lock would ask for `T: Send`, where Tokio asks for `T: Sync`.)
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
