use super::pipe_end::pipe_end;
use super::pipe_fd::{End, check_access, check_is_pipe};
use crate::io::fd::set_nonblocking;
use crate::io::{AsyncWrite, Interest, Ready, Watched};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

pipe_end! {
    /// The end of a pipe to write to.
    ///
    /// A pipe without a receiver fails with `BrokenPipe`, at once and for whoever waits.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use wakeful::io::{AsyncWriteExt, ErrorKind};
    /// use wakeful::net::unix::pipe;
    ///
    /// let (mut sender, receiver): (pipe::Sender, pipe::Receiver) = pipe::pipe()?;
    /// sender.write_all(b"somebody there?").await?;
    /// drop(receiver);
    /// let nobody = sender.write_all(b"hello?").await.unwrap_err();
    /// assert_eq!(nobody.kind(), ErrorKind::BrokenPipe);
    /// # std::io::Result::Ok(()) }).unwrap();
    /// ```
    Sender, Writing, WRITABLE, for "writing"
}

impl Sender {
    /// Waits until there is room to write, or nobody to read any more.
    ///
    /// # Errors
    /// If the runtime has shut down.
    ///
    /// # Cancel safety
    /// A wait that is dropped loses nothing.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await?;
        Ok(())
    }

    /// As [`writable`](Self::writable), on behalf of the task of `cx`. Of several tasks the last one is
    /// called only.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_write_ready(cx)
    }

    /// Writes as much as there is room for, without waiting.
    ///
    /// # Errors
    /// `WouldBlock` if there is none.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, || (&*self.io).write(buf))
    }

    /// As [`try_write`](Self::try_write), from one buffer after the other.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room.
    pub fn try_write_vectored(&self, buf: &[IoSlice<'_>]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, || (&*self.io).write_vectored(buf))
    }
}

impl AsyncWrite for Sender {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write(cx, buf)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io.poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// Does nothing: only its drop ends a pipe.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
