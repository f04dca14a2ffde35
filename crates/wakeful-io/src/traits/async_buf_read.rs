use std::io;
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::AsyncRead;
use super::forward::forward_buf_read;

/// A source of bytes with an internal buffer that callers can inspect.
///
/// This is the asynchronous counterpart of [`std::io::BufRead`].
/// [`AsyncBufReadExt`](crate::AsyncBufReadExt) has methods to await.
/// [`BufReader`](crate::BufReader) adds a buffer to any reader.
///
/// ```
/// use wakeful::io::{AsyncBufRead, AsyncBufReadExt, Result};
///
/// /// Returns whether the first byte is a digit, without consuming it.
/// async fn begins_with_digit(reader: &mut (impl AsyncBufRead + Unpin)) -> Result<bool> {
///     Ok(reader.fill_buf().await?.first().is_some_and(u8::is_ascii_digit))
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut reader: &[u8] = b"42";
/// assert!(begins_with_digit(&mut reader).await?);
/// assert_eq!(reader, b"42");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncBufRead: AsyncRead {
    /// Returns the buffered bytes, reading more from the source if the buffer is empty.
    ///
    /// An empty slice means that the source is at its end. `Pending` means that no bytes are
    /// available yet; the task of `cx` is woken when more may be.
    ///
    /// The bytes stay in the buffer until [`consume`](Self::consume) is called: without that, the
    /// next call and the next read return the same bytes again.
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>>;

    /// Removes the first `amt` bytes from the buffer.
    ///
    /// `amt` must not exceed the length of the slice that the last
    /// [`poll_fill_buf`](Self::poll_fill_buf) returned. The implementation decides what happens
    /// otherwise.
    fn consume(self: Pin<&mut Self>, amt: usize);
}

impl<T: ?Sized + AsyncBufRead + Unpin> AsyncBufRead for Box<T> {
    forward_buf_read!(self => Pin::new(&mut **self.get_mut()));
}

impl<T: ?Sized + AsyncBufRead + Unpin> AsyncBufRead for &mut T {
    forward_buf_read!(self => Pin::new(&mut **self.get_mut()));
}

impl<P> AsyncBufRead for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncBufRead,
{
    forward_buf_read!(self => self.as_deref_mut());
}

impl AsyncBufRead for &[u8] {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(Ok(*self))
    }

    #[inline]
    fn consume(mut self: Pin<&mut Self>, amt: usize) {
        *self = &self[amt..];
    }
}

impl<T: AsRef<[u8]> + Unpin> AsyncBufRead for io::Cursor<T> {
    #[inline]
    fn poll_fill_buf(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
        Poll::Ready(io::BufRead::fill_buf(self.get_mut()))
    }

    #[inline]
    fn consume(self: Pin<&mut Self>, amt: usize) {
        io::BufRead::consume(self.get_mut(), amt);
    }
}
