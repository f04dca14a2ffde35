use std::io::{self, IoSlice, Write};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::forward::forward_write;

/// A destination for bytes.
///
/// This is the asynchronous counterpart of [`std::io::Write`]: instead of blocking the thread it
/// returns `Pending`, and wakes the task once another attempt may succeed.
/// [`AsyncWriteExt`](crate::AsyncWriteExt) has methods to await.
///
/// ```
/// use std::io;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
/// use wakeful::io::{AsyncWrite, AsyncWriteExt};
///
/// /// Counts the bytes that the inner writer accepts.
/// struct Counting<W> {
///     inner: W,
///     bytes: usize,
/// }
///
/// impl<W: AsyncWrite + Unpin> AsyncWrite for Counting<W> {
///     fn poll_write(
///         mut self: Pin<&mut Self>,
///         cx: &mut Context<'_>,
///         buf: &[u8],
///     ) -> Poll<io::Result<usize>> {
///         let written = Pin::new(&mut self.inner).poll_write(cx, buf);
///         if let Poll::Ready(Ok(n)) = written {
///             self.bytes += n;
///         }
///         written
///     }
///
///     fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Pin::new(&mut self.inner).poll_flush(cx)
///     }
///
///     fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
///         Pin::new(&mut self.inner).poll_shutdown(cx)
///     }
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut writer = Counting { inner: Vec::new(), bytes: 0 };
/// writer.write_all(b"hello").await?;
/// assert_eq!(writer.bytes, 5);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub trait AsyncWrite {
    /// Tries to write bytes from the front of `buf`.
    ///
    /// - `Ready(Ok(n))`: the first `n` bytes were written, where `n <= buf.len()`. Zero means that
    ///   `buf` is empty, or that the writer accepts no more bytes and probably never will.
    /// - `Pending`: nothing was written. The task of `cx` is woken when there may be room.
    /// - `Ready(Err(e))`: nothing was written; `e` says why.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>;

    /// Tries to flush, so that everything written so far reaches its destination.
    ///
    /// `Pending` means that some bytes have not arrived yet; the task of `cx` is woken to continue.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Tries to shut the stream down: flush, send what the protocol requires at its end, close.
    ///
    /// A wrapper forwards the call to its inner writer once its own part is done. Callers need not
    /// flush before, and should not write after. `Pending` means that the shutdown is not complete;
    /// the task of `cx` is woken to continue. After an error, the state of the stream is unknown.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Writes like [`poll_write`](Self::poll_write), but from several buffers as if they were one.
    ///
    /// The buffers are written in order; the last one may be written only in part. The default
    /// implementation writes from the first buffer that is not empty.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| buf))
    }

    /// Returns whether [`poll_write_vectored`](Self::poll_write_vectored) writes more than one
    /// buffer.
    ///
    /// If not, callers may be faster if they first copy the bytes into one buffer.
    fn is_write_vectored(&self) -> bool {
        false
    }
}

impl<T: ?Sized + AsyncWrite + Unpin> AsyncWrite for Box<T> {
    forward_write!(self => Pin::new(&mut **self.get_mut()), & => (**self));
}

impl<T: ?Sized + AsyncWrite + Unpin> AsyncWrite for &mut T {
    forward_write!(self => Pin::new(&mut **self.get_mut()), & => (**self));
}

impl<P> AsyncWrite for Pin<P>
where
    P: DerefMut,
    P::Target: AsyncWrite,
{
    forward_write!(self => self.as_deref_mut(), & => (**self));
}

/// Implements `AsyncWrite` for in-memory writers of std, whose calls complete immediately.
macro_rules! write_as_std {
    ($($(#[$doc:meta])* $writer:ty;)*) => {$(
        $(#[$doc])*
        impl AsyncWrite for $writer {
            #[inline]
            fn poll_write(
                self: Pin<&mut Self>,
                _cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(Write::write(self.get_mut(), buf))
            }

            #[inline]
            fn poll_write_vectored(
                self: Pin<&mut Self>,
                _cx: &mut Context<'_>,
                bufs: &[IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Poll::Ready(Write::write_vectored(self.get_mut(), bufs))
            }

            #[inline]
            fn is_write_vectored(&self) -> bool {
                true
            }

            #[inline]
            fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }

            #[inline]
            fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                Poll::Ready(Ok(()))
            }
        }
    )*};
}

write_as_std! {
    /// Appends to the vector.
    Vec<u8>;
    io::Cursor<&mut [u8]>;
    io::Cursor<&mut Vec<u8>>;
    io::Cursor<Vec<u8>>;
    io::Cursor<Box<[u8]>>;
}
