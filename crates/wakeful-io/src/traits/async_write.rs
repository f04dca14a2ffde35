use std::io::{self, IoSlice, Write};
use std::ops::DerefMut;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::forward::forward_write;

/// A place where bytes go.
///
/// This is [`std::io::Write`] for tasks: where that blocks its thread, this returns `Pending` and
/// wakes the task once it is worth another try. Methods to await are in
/// [`AsyncWriteExt`](crate::AsyncWriteExt).
///
/// ```
/// use std::io;
/// use std::pin::Pin;
/// use std::task::{Context, Poll};
/// use wakeful::io::{AsyncWrite, AsyncWriteExt};
///
/// /// Counts bytes on their way to the writer inside.
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
    /// - `Ready(Ok(n))`: the first `n` bytes were taken, where `n <= buf.len()`. Zero means that
    ///   `buf` is empty, or that the writer takes no more and likely never will again.
    /// - `Pending`: nothing was taken. The task of `cx` will be woken when there may be room.
    /// - `Ready(Err(e))`: nothing was taken, and `e` says why.
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>>;

    /// Tries to get everything written so far to where it is going.
    ///
    /// `Pending` means that some of it is still on its way; the task of `cx` will be woken to go
    /// on.
    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// Tries to end the stream in good order: flush, say goodbye as the protocol wants it, close.
    ///
    /// A wrapper passes the call on once its own part is done. Callers need not flush before, and
    /// should not write after. `Pending` means that it takes longer; the task of `cx` will be woken
    /// to go on. After an error the stream is in an unknown state.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>>;

    /// As [`poll_write`](Self::poll_write), from several buffers as if they were one.
    ///
    /// The buffers are taken in order, and the last one touched perhaps only in part. Unless an
    /// implementation has a better way, this writes from the first buffer that is not empty.
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = bufs.iter().find(|buf| !buf.is_empty());
        self.poll_write(cx, first.map_or(&[], |buf| buf))
    }

    /// Whether [`poll_write_vectored`](Self::poll_write_vectored) makes use of more than one
    /// buffer.
    ///
    /// If it does not, a caller may do better to gather its bytes in one buffer first.
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

/// What std can write to in memory: every call is done at once.
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
    /// Appends.
    Vec<u8>;
    io::Cursor<&mut [u8]>;
    io::Cursor<&mut Vec<u8>>;
    io::Cursor<Vec<u8>>;
    io::Cursor<Box<[u8]>>;
}
