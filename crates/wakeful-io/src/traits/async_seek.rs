use std::io::{self, SeekFrom};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::forward::forward_seek;

/// A stream of bytes with a position that can be moved.
///
/// This is [`std::io::Seek`] for tasks. A seek has two steps, since it may have to wait: it is
/// handed in by [`start_seek`](Self::start_seek) and ends when
/// [`poll_complete`](Self::poll_complete) is `Ready`. Methods to await are in
/// [`AsyncSeekExt`](crate::AsyncSeekExt).
///
/// ```
/// use std::io::{Cursor, SeekFrom};
/// use wakeful::io::{AsyncSeek, AsyncSeekExt, Result};
///
/// /// How many bytes there are, without moving away from where it stands.
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
    /// Begins to move to `position`.
    ///
    /// Whether one may move behind the end is up to the implementation.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Other`](io::ErrorKind::Other) if an earlier seek is still under way. Call
    /// [`poll_complete`](Self::poll_complete) first to be sure that there is none.
    fn start_seek(self: Pin<&mut Self>, position: SeekFrom) -> io::Result<()>;

    /// Waits for the seek under way, and returns the position it led to, counted from the start.
    ///
    /// The position is reliable only right after a seek: what reads and writes since then change
    /// about it, and what is returned if there was no seek at all, is up to the implementation.
    ///
    /// # Errors
    ///
    /// Among others, if the seek would lead before the start.
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
