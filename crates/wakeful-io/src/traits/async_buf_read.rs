use std::io;
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::AsyncRead;
use super::forward::forward_buf_read;

/// A source of bytes that lets you look at what it has buffered.
///
/// This is [`std::io::BufRead`] for tasks. Methods to await are in
/// [`AsyncBufReadExt`](crate::AsyncBufReadExt); any reader becomes one in a
/// [`BufReader`](crate::BufReader).
///
/// ```
/// use wakeful::io::{AsyncBufRead, AsyncBufReadExt, Result};
///
/// /// Whether the first byte is a digit. It can still be read afterwards.
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
    /// Shows the buffered bytes, after reading more from the source if there are none.
    ///
    /// An empty slice means that the source is at its end. `Pending` means that nothing is there
    /// yet; the task of `cx` will be woken when there may be something.
    ///
    /// Bytes shown stay in the buffer until [`consume`](Self::consume) is told about them; without
    /// that, the next call and the next read show them again.
    fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>>;

    /// Takes the first `amt` bytes out of the buffer.
    ///
    /// `amt` must not exceed what the last [`poll_fill_buf`](Self::poll_fill_buf) showed. What
    /// happens otherwise is up to the implementation.
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
