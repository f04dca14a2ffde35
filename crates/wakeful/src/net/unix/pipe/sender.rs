use super::pipe_fd::{End, check_access, check_is_pipe};
use crate::io::fd::set_nonblocking;
use crate::io::{AsyncWrite, Interest, Ready, Watched};
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The end of a pipe to write to.
///
/// A pipe without a receiver fails with `BrokenPipe`, at once and for whoever waits.
#[derive(Debug)]
pub struct Sender {
    io: Watched<File>,
}

impl Sender {
    #[track_caller]
    pub(super) fn watch(file: File, call: &str) -> io::Result<Sender> {
        Ok(Sender { io: Watched::new(file, Interest::WRITABLE, call)? })
    }

    /// Takes a pipe over, and makes it non-blocking.
    ///
    /// # Errors
    /// If it is no pipe, or was not opened for writing.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn from_file(file: File) -> io::Result<Sender> {
        check_is_pipe(&file)?;
        check_access(&file, End::Writing)?;
        set_nonblocking(&file, true)?;
        Sender::from_file_unchecked(file)
    }

    /// As [`from_file`](Self::from_file), of a descriptor.
    ///
    /// # Errors
    /// If it is no pipe, or was not opened for writing.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<Sender> {
        Sender::from_file(owned_fd.into())
    }

    /// Takes a file over that is known to be a non-blocking pipe, or as good as one.
    ///
    /// # Errors
    /// If the kernel cannot watch it.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn from_file_unchecked(file: File) -> io::Result<Sender> {
        Sender::watch(file, "Sender::from_file")
    }

    /// As [`from_file_unchecked`](Self::from_file_unchecked), of a descriptor.
    ///
    /// # Errors
    /// If the kernel cannot watch it.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<Sender> {
        Sender::from_file_unchecked(owned_fd.into())
    }

    /// Waits until it is ready for any of `interest`, and returns what it is ready for. Several tasks may
    /// wait at once.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.io.ready(interest).await
    }

    /// Waits until there is room to write, or nobody to read any more.
    ///
    /// # Errors
    /// If the runtime has shut down.
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

    /// Runs `f`, an operation on the descriptor, if there is room to write as far as is known. It must
    /// return `WouldBlock` if the operation did, and only then.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room; those of `f`.
    pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.io.try_io(Interest::WRITABLE, f)
    }

    /// The descriptor, which blocks from now on: for a child process, say.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub fn into_blocking_fd(self) -> io::Result<OwnedFd> {
        let fd = self.into_nonblocking_fd()?;
        set_nonblocking(&fd, false)?;
        Ok(fd)
    }

    /// The descriptor, which goes on not to block.
    ///
    /// # Errors
    /// If the kernel does not know it any more.
    pub fn into_nonblocking_fd(self) -> io::Result<OwnedFd> {
        Ok(self.io.into_inner()?.into())
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

impl AsRawFd for Sender {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl AsFd for Sender {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}
