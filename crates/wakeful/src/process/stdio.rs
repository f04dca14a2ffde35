//! This process's ends of a child's standard streams.

use crate::io::fd::{self, set_nonblocking};
use crate::io::{AsyncRead, AsyncWrite, ReadBuf, Watched};
use std::fs::File;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::pin::Pin;
use std::process::{self, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll};
use wakeful_reactor::Interest;
use wakeful_reactor::io::IoDriver;
use wakeful_runtime::runtime::current_io;

/// The write end of a child's standard input.
///
/// Writes go to a pipe, and wait while the pipe is full. Dropping this closes the pipe, which ends
/// the child's input.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::process::Stdio;
/// use wakeful::io::AsyncWriteExt;
/// use wakeful::process::{ChildStdin, Command};
///
/// let mut child = Command::new("grep").args(["-q", "needle"]).stdin(Stdio::piped()).spawn()?;
/// let mut stdin: ChildStdin = child.stdin.take().unwrap();
/// stdin.write_all(b"hay\nneedle\n").await?;
/// drop(stdin);
/// assert!(child.wait().await?.success());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct ChildStdin {
    io: Watched<File>,
}

/// The read end of a child's standard output.
///
/// It can be the input of another child, without passing the data through this process:
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::process::Stdio;
/// use wakeful::process::{ChildStdout, Command};
///
/// let mut echo = Command::new("echo").arg("quiet").stdout(Stdio::piped()).spawn()?;
/// let stdout: ChildStdout = echo.stdout.take().unwrap();
/// let input: Stdio = stdout.try_into()?;
/// let upper = Command::new("tr").args(["a-z", "A-Z"]).stdin(input).output().await?;
/// assert_eq!(upper.stdout, b"QUIET\n");
/// assert!(echo.wait().await?.success());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct ChildStdout {
    io: Watched<File>,
}

/// The read end of a child's standard error.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::process::Stdio;
/// use wakeful::io::{AsyncBufReadExt, BufReader};
/// use wakeful::process::{ChildStderr, Command};
///
/// let mut child =
///     Command::new("sh").args(["-c", "echo trouble >&2"]).stderr(Stdio::piped()).spawn()?;
/// let stderr: ChildStderr = child.stderr.take().unwrap();
/// let mut lines = BufReader::new(stderr).lines();
/// assert_eq!(lines.next_line().await?.as_deref(), Some("trouble"));
/// child.wait().await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct ChildStderr {
    io: Watched<File>,
}

fn watch(fd: OwnedFd, interest: Interest, driver: &Arc<IoDriver>) -> io::Result<Watched<File>> {
    set_nonblocking(&fd, true)?;
    Watched::with_driver(File::from(fd), interest, driver)
}

/// Implements what all three types have in common.
macro_rules! stream {
    ($name:ident, $interest:expr) => {
        impl $name {
            pub(super) fn watch(
                inner: process::$name,
                driver: &Arc<IoDriver>,
            ) -> io::Result<$name> {
                Ok($name { io: watch(inner.into(), $interest, driver)? })
            }

            /// Converts the type of the standard library.
            ///
            /// # Errors
            /// Returns an error if the kernel cannot watch the descriptor, or the runtime has shut
            /// down.
            ///
            /// # Panics
            /// Panics if called outside a runtime with I/O enabled.
            #[track_caller]
            pub fn from_std(inner: process::$name) -> io::Result<$name> {
                let call = concat!(stringify!($name), "::from_std");
                $name::watch(inner, &current_io(call))
            }

            /// Converts the stream into its descriptor, in blocking mode.
            ///
            /// # Errors
            /// Returns an error if the kernel refuses to change the mode.
            pub fn into_owned_fd(self) -> io::Result<OwnedFd> {
                let file = self.io.into_inner()?;
                set_nonblocking(&file, false)?;
                Ok(file.into())
            }
        }

        /// Converts the stream into the stream of another child, in blocking mode.
        impl TryInto<Stdio> for $name {
            type Error = io::Error;

            fn try_into(self) -> io::Result<Stdio> {
                Ok(self.into_owned_fd()?.into())
            }
        }

        impl AsRawFd for $name {
            fn as_raw_fd(&self) -> RawFd {
                self.io.as_raw_fd()
            }
        }

        impl AsFd for $name {
            fn as_fd(&self) -> BorrowedFd<'_> {
                self.io.as_fd()
            }
        }
    };
}

stream!(ChildStdin, Interest::WRITABLE);
stream!(ChildStdout, Interest::READABLE);
stream!(ChildStderr, Interest::READABLE);

macro_rules! read {
    ($name:ident) => {
        impl AsyncRead for $name {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                self.io.poll_read(cx, buf, |file, buf| fd::read(file, buf))
            }
        }
    };
}

read!(ChildStdout);
read!(ChildStderr);

impl AsyncWrite for ChildStdin {
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

    /// Does nothing. A pipe is closed only when its `ChildStdin` is dropped.
    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
