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
    /// The end of a pipe to read from.
    ///
    /// It is at its end when the last sender is gone. A FIFO can get another one after that; with
    /// [`OpenOptions::read_write`](super::OpenOptions::read_write) it has no end.
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
    /// Waits until there is something to read, or nobody to write any more.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// A wait that is dropped loses nothing.
    pub async fn readable(&self) -> io::Result<()> {
        self.ready(Interest::READABLE).await?;
        Ok(())
    }

    /// As [`readable`](Self::readable), on behalf of the task of `cx`. Of several tasks the last one is
    /// called only.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_read_ready(cx)
    }

    /// Reads what there is, without waiting. None at all is the end of the pipe.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_read(&self, buf: &mut [u8]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || (&*self.io).read(buf))
    }

    /// As [`try_read`](Self::try_read), into one buffer after the other.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
    pub fn try_read_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.io.try_io(Interest::READABLE, || (&*self.io).read_vectored(bufs))
    }

    /// As [`try_read`](Self::try_read), to the end of a buffer that grows.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing yet.
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
