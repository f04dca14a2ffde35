use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::budget;

use crate::contract;
use crate::traits::{AsyncBufRead, AsyncWrite};

/// Copies everything from `reader` to `writer`, flushes `writer`, and returns the number of bytes.
///
/// Unlike [`copy`](crate::copy), this writes directly from the reader's buffer.
///
/// The writer is also flushed whenever the reader has no bytes available.
///
/// # Errors
///
/// Returns the first error of a read or write that is not [`Interrupted`](ErrorKind::Interrupted),
/// the first error of a flush, or [`WriteZero`](ErrorKind::WriteZero) if the writer accepts no more
/// bytes.
///
/// # Cancel safety
///
/// If the future is dropped before it completes, no bytes are lost: unwritten bytes are still in
/// the reader's buffer, and another call continues from there. Only the number of copied bytes is
/// lost.
///
/// # Examples
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::{BufReader, copy_buf};
///
/// let mut reader = BufReader::with_capacity(64 * 1024, &b"hello"[..]);
/// let mut writer = Vec::new();
/// assert_eq!(copy_buf(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn copy_buf<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncBufRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut transfer = BufTransfer::default();
    poll_fn(|cx| transfer.poll(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

#[derive(Default)]
struct BufTransfer {
    copied: u64,
    /// Whether the writer may hold unflushed bytes.
    need_flush: bool,
}

impl BufTransfer {
    fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncBufRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        let unit = ready!(budget::poll_proceed(cx));
        loop {
            let Poll::Ready(result) = reader.as_mut().poll_fill_buf(cx) else {
                // The peer may answer only after it has received the bytes that the writer has not
                // flushed.
                if self.need_flush {
                    ready!(writer.as_mut().poll_flush(cx))?;
                    self.need_flush = false;
                }
                return Poll::Pending;
            };
            if contract::is_interrupted(&result) {
                continue;
            }
            unit.made_progress();
            let bytes = result?;
            if bytes.is_empty() {
                ready!(writer.as_mut().poll_flush(cx))?;
                return Poll::Ready(Ok(self.copied));
            }
            let result = ready!(contract::poll_write(writer.as_mut(), cx, bytes));
            if contract::is_interrupted(&result) {
                continue;
            }
            let n = result?;
            if n == 0 {
                return Poll::Ready(Err(ErrorKind::WriteZero.into()));
            }
            self.copied += n as u64;
            self.need_flush = true;
            reader.as_mut().consume(n);
        }
    }
}
