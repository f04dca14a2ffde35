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
    /// The writing end of a pipe.
    ///
    /// Writing to a pipe without a receiver fails with `BrokenPipe`, also for writers that already
    /// wait.
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
    /// Waits until the pipe is writable, or all receivers are gone.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no event is lost.
    pub async fn writable(&self) -> io::Result<()> {
        self.ready(Interest::WRITABLE).await?;
        Ok(())
    }

    /// Polls for writability, like [`writable`](Self::writable).
    ///
    /// If several tasks poll for writing, only the last one is woken.
    ///
    /// # Errors
    /// Returns an error if the runtime has shut down.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io.poll_write_ready(cx)
    }

    /// Tries to write, without waiting. The write may be partial.
    ///
    /// # Errors
    /// Returns `WouldBlock` if the pipe is full.
    pub fn try_write(&self, buf: &[u8]) -> io::Result<usize> {
        self.io.try_io(Interest::WRITABLE, || (&*self.io).write(buf))
    }

    /// Tries to write from several buffers, like [`try_write`](Self::try_write).
    ///
    /// # Errors
    /// Returns `WouldBlock` if the pipe is full.
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

    /// Does nothing: a pipe ends only when its sender is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
