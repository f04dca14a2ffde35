use super::pipe_fd::{End, check_access, check_is_pipe};
use crate::io::fd::{self, set_nonblocking};
use crate::io::{AsyncRead, Interest, ReadBuf, Ready, Watched};
use bytes::BufMut;
use std::fs::File;
use std::io::{self, IoSliceMut, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

/// The end of a pipe to read from.
///
/// It is at its end when the last sender is gone. A FIFO can get another one after that; with
/// [`OpenOptions::read_write`](super::OpenOptions::read_write) it has no end.
#[derive(Debug)]
pub struct Receiver {
    io: Watched<File>,
}

impl Receiver {
    #[track_caller]
    pub(super) fn watch(file: File, call: &str) -> io::Result<Receiver> {
        Ok(Receiver { io: Watched::new(file, Interest::READABLE, call)? })
    }

    /// Takes a pipe over, and makes it non-blocking.
    ///
    /// # Errors
    /// If it is no pipe, or was not opened for reading.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn from_file(file: File) -> io::Result<Receiver> {
        check_is_pipe(&file)?;
        check_access(&file, End::Reading)?;
        set_nonblocking(&file, true)?;
        Receiver::from_file_unchecked(file)
    }

    /// As [`from_file`](Self::from_file), of a descriptor.
    ///
    /// # Errors
    /// If it is no pipe, or was not opened for reading.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn from_owned_fd(owned_fd: OwnedFd) -> io::Result<Receiver> {
        Receiver::from_file(owned_fd.into())
    }

    /// Takes a file over that is known to be a non-blocking pipe, or as good as one: a read that brings
    /// less than it asked for has taken all there was.
    ///
    /// # Errors
    /// If the kernel cannot watch it.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn from_file_unchecked(file: File) -> io::Result<Receiver> {
        Receiver::watch(file, "Receiver::from_file")
    }

    /// As [`from_file_unchecked`](Self::from_file_unchecked), of a descriptor.
    ///
    /// # Errors
    /// If the kernel cannot watch it.
    ///
    /// # Panics
    /// Outside of a runtime with I/O.
    #[track_caller]
    pub fn from_owned_fd_unchecked(owned_fd: OwnedFd) -> io::Result<Receiver> {
        Receiver::from_file_unchecked(owned_fd.into())
    }

    /// Waits until it is ready for any of `interest`, and returns what it is ready for. Several tasks may
    /// wait at once.
    ///
    /// # Errors
    /// If the runtime has shut down.
    pub async fn ready(&self, interest: Interest) -> io::Result<Ready> {
        self.io.ready(interest).await
    }

    /// Waits until there is something to read, or nobody to write any more.
    ///
    /// # Errors
    /// If the runtime has shut down.
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

    /// Runs `f`, an operation on the descriptor, if there is something to read as far as is known. It must
    /// return `WouldBlock` if the operation did, and only then.
    ///
    /// # Errors
    /// `WouldBlock` if there is nothing; those of `f`.
    pub fn try_io<R>(&self, f: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
        self.io.try_io(Interest::READABLE, f)
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

impl AsyncRead for Receiver {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.io.poll_read(cx, buf, |file, buf| fd::read(file, buf))
    }
}

impl AsRawFd for Receiver {
    fn as_raw_fd(&self) -> RawFd {
        self.io.as_raw_fd()
    }
}

impl AsFd for Receiver {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.io.as_fd()
    }
}
