use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use wakeful_base::budget;

use crate::contract;
use crate::traits::{AsyncRead, AsyncWrite};
use crate::window::{DEFAULT_CAPACITY, Window};

/// Copies everything from `reader` to `writer`, flushes `writer`, and returns the number of bytes.
///
/// The bytes go through a buffer of 8 KiB. For a reader that has its own buffer,
/// [`copy_buf`](crate::copy_buf) avoids the second one.
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
/// This function is not cancel safe. If the future is dropped before it completes, bytes that were
/// read but not written are lost. [`copy_buf`](crate::copy_buf) loses none.
///
/// # Examples
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut reader: &[u8] = b"hello";
/// let mut writer = Vec::new();
/// assert_eq!(wakeful::io::copy(&mut reader, &mut writer).await?, 5);
/// assert_eq!(writer, b"hello");
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub async fn copy<'a, R, W>(reader: &'a mut R, writer: &'a mut W) -> io::Result<u64>
where
    R: AsyncRead + Unpin + ?Sized,
    W: AsyncWrite + Unpin + ?Sized,
{
    let mut transfer = Transfer::new(DEFAULT_CAPACITY);
    poll_fn(|cx| transfer.poll(cx, Pin::new(&mut *reader), Pin::new(&mut *writer))).await
}

/// The state of a copy in one direction.
#[derive(Debug)]
pub(super) struct Transfer {
    window: Window,
    read_done: bool,
    /// Whether the writer may hold unflushed bytes.
    need_flush: bool,
    copied: u64,
}

impl Transfer {
    pub(super) fn new(capacity: usize) -> Self {
        Transfer { window: Window::new(capacity), read_done: false, need_flush: false, copied: 0 }
    }

    /// Copies until the reader ends, and returns the number of bytes once all are written and
    /// flushed.
    pub(super) fn poll<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<u64>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        let unit = ready!(budget::poll_proceed(cx));
        loop {
            if !self.read_done && !self.window.is_full() {
                match self.poll_fill(cx, reader.as_mut()) {
                    Poll::Ready(result) => {
                        unit.made_progress();
                        result?;
                    }
                    Poll::Pending if self.window.is_empty() => {
                        // The peer may answer only after it has received the bytes that the writer
                        // has not flushed.
                        if self.need_flush {
                            ready!(writer.as_mut().poll_flush(cx))?;
                            unit.made_progress();
                            self.need_flush = false;
                        }
                        return Poll::Pending;
                    }
                    Poll::Pending => {}
                }
            }
            while !self.window.is_empty() {
                let n = ready!(self.poll_write(cx, reader.as_mut(), writer.as_mut()))?;
                unit.made_progress();
                if n == 0 {
                    let text = "write zero byte into writer";
                    return Poll::Ready(Err(io::Error::new(ErrorKind::WriteZero, text)));
                }
                self.window.consume(n);
                self.copied += n as u64;
                self.need_flush = true;
            }
            if self.read_done {
                ready!(writer.as_mut().poll_flush(cx))?;
                unit.made_progress();
                return Poll::Ready(Ok(self.copied));
            }
        }
    }

    fn poll_fill<R: AsyncRead + ?Sized>(
        &mut self,
        cx: &mut Context<'_>,
        mut reader: Pin<&mut R>,
    ) -> Poll<io::Result<()>> {
        loop {
            let result = ready!(self.window.poll_fill(reader.as_mut(), cx));
            if contract::is_interrupted(&result) {
                continue;
            }
            self.read_done = result? == 0;
            return Poll::Ready(Ok(()));
        }
    }

    fn poll_write<R, W>(
        &mut self,
        cx: &mut Context<'_>,
        reader: Pin<&mut R>,
        mut writer: Pin<&mut W>,
    ) -> Poll<io::Result<usize>>
    where
        R: AsyncRead + ?Sized,
        W: AsyncWrite + ?Sized,
    {
        loop {
            match contract::poll_write(writer.as_mut(), cx, self.window.bytes()) {
                Poll::Ready(result) if contract::is_interrupted(&result) => {}
                Poll::Ready(result) => return Poll::Ready(result),
                Poll::Pending => {
                    // Reads more while the writer is pending, so that the next write is larger.
                    if !self.read_done && !self.window.is_full() {
                        ready!(self.poll_fill(cx, reader))?;
                    }
                    return Poll::Pending;
                }
            }
        }
    }
}
