use super::pipe_end::pipe_end;
use super::pipe_fd::{End, check_access, check_is_pipe};
use crate::io::fd::{self, set_nonblocking};
use crate::io::{AsyncRead, Interest, ReadBuf, Ready, Watched};
use bytes::BufMut;
use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

pipe_end! {
    /// The reading end of a pipe.
    ///
    /// The stream ends when the last sender is dropped. A FIFO may get another sender later. With
    /// [`OpenOptions::read_write`](super::OpenOptions::read_write) the stream never ends.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncReadExt, ErrorKind};
    /// use wakeful::net::unix::pipe;
    ///
    /// let (sender, mut receiver): (pipe::Sender, pipe::Receiver) = pipe::pipe()?;
    /// sender.writable().await?;
    /// sender.try_write(b"hello")?;
    /// receiver.readable().await?;
    /// let mut buf = [0; 16];
    /// assert_eq!(receiver.try_read(&mut buf)?, 5);
    /// assert_eq!(receiver.try_read(&mut buf).unwrap_err().kind(), ErrorKind::WouldBlock);
    /// drop(sender);
    /// assert_eq!(receiver.read(&mut buf).await?, 0);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    Receiver, Reading, READABLE, for "reading"
}

impl Receiver {
    /// Waits until the pipe is readable, or all senders are gone.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no event is lost.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await?;
        Ok(())
    }

    /// Polls for readability, like [`readable`](Self::readable).
    ///
    /// If several tasks poll for reading, only the last one is woken.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_ready(cx)
    }

    /// Tries to read, without waiting. `Ok(0)` is the end of the pipe, or an empty buffer.
    ///
    /// # Errors
    /// Returns `WouldBlock` if there is nothing to read.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || (&*self.io).read(buf))
    }

    /// Tries to read into several buffers, like [`try_read`](Self::try_read).
    ///
    /// # Errors
    /// Returns `WouldBlock` if there is nothing to read.
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || (&*self.io).read_vectored(bufs))
    }

    /// Tries to read and appends to `buf`, like [`try_read`](Self::try_read).
    ///
    /// # Errors
    /// Returns `WouldBlock` if there is nothing to read.
    pub fn try_read_buf<B: BufMut>(&self, buf: &mut B) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || fd::read(&*self.io, buf))
    }
}

impl AsyncRead for Receiver {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.io.poll_read(cx, buf, |file, buf| fd::read(file, buf))
    }
}
