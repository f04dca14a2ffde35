use std::io::{self, SeekFrom};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::forward::forward_seek;

/// A stream of bytes with a cursor that can be moved.
///
/// This is the asynchronous counterpart of [`std::io::Seek`]. A seek may have to wait, so it has
/// two steps: [`start_seek`](Self::start_seek) starts it, and it is complete once
/// [`poll_complete`](Self::poll_complete) returns `Ready`. [`AsyncSeekExt`](crate::AsyncSeekExt)
/// has methods to await.
///
/// ```
/// use std::io::{Cursor, SeekFrom};
/// use wakeful::io::{AsyncSeek, AsyncSeekExt, Result};
///
/// /// Returns the length of the stream, and leaves its position as it was.
/// async fn len(stream: &mut (impl AsyncSeek + Unpin)) -> Result<u64> {
///     let here = stream.stream_position().await?;
///     let end = stream.seek(SeekFrom::End(0)).await?;
///     stream.seek(SeekFrom::Start(here)).await?;
///     Ok(end)
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut stream = Cursor::new(b"abc");
/// assert_eq!(len(&mut stream).await?, 3);
/// assert_eq!(stream.position(), 0);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncSeek {
    /// Starts a seek to `position`.
    ///
    /// The implementation decides whether a seek beyond the end is allowed.
    ///
    /// # Errors
    ///
    /// May return [`ErrorKind::Other`](io::ErrorKind::Other) if an earlier seek has not completed.
    /// To rule this out, call [`poll_complete`](Self::poll_complete) first.
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()>;

    /// Waits for the seek to complete and returns the new position, counted from the start.
    ///
    /// The position is reliable only right after a seek. What this returns after reads or writes,
    /// or if no seek was started, depends on the implementation.
    ///
    /// # Errors
    ///
    /// Returns an error if the seek fails, for example because the position is before the start.
    fn poll_complete(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<u64>>;
}

impl<T: ?Sized + AsyncSeek + Unpin> AsyncSeek for Box<T> {
    forward_seek!(self => Pin::new(&mut **self.get_mut()));
}

impl<T: ?Sized + AsyncSeek + Unpin> AsyncSeek for &mut T {
    forward_seek!(self => Pin::new(&mut **self.get_mut()));
}

impl<P> AsyncSeek for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncSeek,
{
    forward_seek!(self => self.as_deref_mut());
}

impl<T: AsRef<[u8]> + Unpin> AsyncSeek for io::Cursor<T> {
    #[inline]
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()> {
        io::Seek::seek(self.get_mut(), position).map(drop)
    }

    #[inline]
    fn poll_complete(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.position()))
    }
}
