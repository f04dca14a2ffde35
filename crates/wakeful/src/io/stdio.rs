//! The three standard streams, through the blocking pool.
//!
//! They use the streams of the standard library, and so share buffers and locks with `println!`.

mod input;
mod output;

use super::{AsyncRead, AsyncWrite, ReadBuf};
use input::PoolReader;
use output::{PoolWriter, StdOutput};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Returns a handle to standard input.
///
/// A thread of the blocking pool reads it. That read cannot be interrupted: dropping the runtime
/// waits until a line or the end of the input arrives. In interactive programs, read on a dedicated
/// thread instead.
///
/// All handles share one buffer in the standard library. If a handle is dropped during a read, the
/// bytes of that read are lost.
///
/// ```
/// use wakeful::io::{AsyncBufReadExt, AsyncRead, BufReader};
///
/// async fn sum(input: impl AsyncRead + Unpin) -> std::io::Result<u64> {
///     let mut lines = BufReader::new(input).lines();
///     let mut sum = 0;
///     while let Some(line) = lines.next_line().await? {
///         sum += line.trim().parse().unwrap_or(0);
///     }
///     Ok(sum)
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let of_what_is_typed = sum(wakeful::io::stdin()); // waits for input once it is awaited
/// assert_eq!(sum(&b"20\n22\n"[..]).await?, 42);
/// # drop(of_what_is_typed);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn stdin() -> Stdin {
    Stdin { reader: PoolReader::default() }
}

/// Returns a handle to standard output.
///
/// A write returns before its bytes are written: it continues in the background, and a shutdown of
/// the runtime lets it finish. `flush` waits for it, and also writes what the standard library
/// buffers until the end of the line.
///
/// Concurrent writes through several handles come in no particular order, but each is written in
/// one piece, up to 2 MiB.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::AsyncWriteExt;
///
/// let mut out = wakeful::io::stdout();
/// out.write_all(b"hello\n").await?;
/// out.flush().await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn stdout() -> Stdout {
    Stdout { writer: PoolWriter::new() }
}

/// Returns a handle to standard error.
///
/// A write returns before its bytes are written: it continues in the background, and a shutdown of
/// the runtime lets it finish. `flush` waits for it.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use wakeful::io::AsyncWriteExt;
///
/// wakeful::io::stderr().write_all(b"something is wrong\n").await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
pub fn stderr() -> Stderr {
    Stderr { writer: PoolWriter::new() }
}

/// A handle to standard input. Returned by [`stdin`].
///
/// ```
/// use std::os::fd::AsRawFd;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let stdin: wakeful::io::Stdin = wakeful::io::stdin(); // reads nothing before the first read
/// assert_eq!(stdin.as_raw_fd(), 0);
/// # });
/// ```
#[derive(Debug)]
pub struct Stdin {
    reader: PoolReader,
}

/// A handle to standard output. Returned by [`stdout`].
///
/// ```
/// use wakeful::io::{AsyncWriteExt, Stdout, stdout};
///
/// /// Shows the progress of a job, on one line.
/// async fn show(out: &mut Stdout, percent: u32) -> std::io::Result<()> {
///     out.write_all(format!("\r{percent} %").as_bytes()).await?;
///     out.flush().await // the text ends without a newline, which would flush
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut out = stdout();
/// for percent in [0, 50, 100] {
///     show(&mut out, percent).await?;
/// }
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Stdout {
    writer: PoolWriter<ToStdout>,
}

/// A handle to standard error. Returned by [`stderr`].
///
/// ```
/// use wakeful::io::{AsyncWriteExt, Stderr, stderr};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut err: Stderr = stderr();
/// err.write_all(b"cannot open the door\n").await?;
/// err.flush().await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Stderr {
    writer: PoolWriter<ToStderr>,
}

#[derive(Debug)]
struct ToStdout;

impl StdOutput for ToStdout {
    const NAME: &'static str = "io::Stdout";

    fn std() -> impl io::Write {
        io::stdout()
    }
}

#[derive(Debug)]
struct ToStderr;

impl StdOutput for ToStderr {
    const NAME: &'static str = "io::Stderr";

    fn std() -> impl io::Write {
        io::stderr()
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.reader.poll_read(cx, buf)
    }
}

macro_rules! write_through_pool {
    ($($stream:ty),*) => {$(
        impl AsyncWrite for $stream {
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &[u8],
            ) -> Poll<io::Result<usize>> {
                self.writer.poll_write(cx, buf)
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.writer.poll_flush(cx)
            }

            fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
                // The stream belongs to the process, so other code may still use it.
                Poll::Ready(Ok(()))
            }
        }
    )*};
}

write_through_pool!(Stdout, Stderr);

macro_rules! descriptor_of_std {
    ($($stream:ty, $std:path;)*) => {$(
        impl AsRawFd for $stream {
            fn as_raw_fd(&self) -> RawFd {
                $std().as_raw_fd()
            }
        }

        impl AsFd for $stream {
            fn as_fd(&self) -> BorrowedFd<'_> {
                // SAFETY: the standard library never closes these three descriptors.
                unsafe { BorrowedFd::borrow_raw(self.as_raw_fd()) }
            }
        }
    )*};
}

descriptor_of_std! {
    Stdin, io::stdin;
    Stdout, io::stdout;
    Stderr, io::stderr;
}
