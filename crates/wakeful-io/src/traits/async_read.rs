use std::io;
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::ReadBuf;
use super::forward::forward_read;

/// A source of bytes.
///
/// This is the asynchronous counterpart of [`std::io::Read`]: instead of blocking the thread it
/// returns `Pending`, and wakes the task once another attempt may succeed.
/// [`AsyncReadExt`](crate::AsyncReadExt) has methods to await.
///
/// ```
/// use std::io;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
/// use wakeful::io::{AsyncRead, AsyncReadExt, ReadBuf};
///
/// /// Counts down, one byte per read.
/// struct Countdown(u8);
///
/// impl AsyncRead for Countdown {
///     fn poll_read(
///         mut self: Pin<&mut Self>,
///         _cx: &mut Context<'_>,
///         buf: &mut ReadBuf<'_>,
///     ) -> Poll<io::Result<()>> {
///         if self.0 > 0 && buf.remaining() > 0 {
///             buf.put_slice(&[self.0]);
///             self.0 -= 1;
///         }
///         Poll::Ready(Ok(()))
///     }
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut bytes = Vec::new();
/// Countdown(3).read_to_end(&mut bytes).await?;
/// assert_eq!(bytes, [3, 2, 1]);
/// # io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncRead {
    /// Tries to read bytes into the unfilled part of `buf`.
    ///
    /// - `Ready(Ok(()))`: the bytes read have been appended to the filled part. If there are none,
    ///   the source is at its end, or `buf` has no room (`buf.remaining() == 0`).
    /// - `Pending`: nothing was read. The task of `cx` is woken when there may be bytes to read.
    /// - `Ready(Err(e))`: nothing was read; `e` says why.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>>;
}

impl<T: ?Sized + AsyncRead + Unpin> AsyncRead for Box<T> {
    forward_read!(self => Pin::new(&mut **self.get_mut()));
}

impl<T: ?Sized + AsyncRead + Unpin> AsyncRead for &mut T {
    forward_read!(self => Pin::new(&mut **self.get_mut()));
}

impl<P> AsyncRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncRead,
{
    forward_read!(self => self.as_deref_mut());
}

/// Reads from the front of the slice, which then starts behind the bytes read.
impl AsyncRead for &[u8] {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (now, later) = self.split_at(self.len().min(buf.remaining()));
        buf.put_slice(now);
        *self = later;
        Poll::Ready(Ok(()))
    }
}

/// A position beyond the end reads as end of file.
impl<T: AsRef<[u8]> + Unpin> AsyncRead for io::Cursor<T> {
    #[inline]
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let position = self.position();
        let bytes = self.get_ref().as_ref();
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        let Some(rest) = bytes.get(start..) else {
            return Poll::Ready(Ok(()));
        };
        let n = rest.len().min(buf.remaining());
        buf.put_slice(&rest[..n]);
        self.set_position(position + n as u64);
        Poll::Ready(Ok(()))
    }
}
