//! Asynchronous reading and writing.
//!
//! Sockets, pipes and files implement [`AsyncRead`], [`AsyncWrite`], [`AsyncBufRead`] or
//! [`AsyncSeek`]. With the feature `io-util` there are also extension traits with `async` methods,
//! buffers and adapters. `unix::AsyncFd` waits for the readiness of any other pollable descriptor.
//!
//! | to | use |
//! |---|---|
//! | read or write all of something | `AsyncReadExt::read_to_end`, `AsyncWriteExt::write_all` |
//! | read lines | `BufReader` and `AsyncBufReadExt::lines` |
//! | make many small writes cheap | `BufWriter`, and `AsyncWriteExt::flush` at the end |
//! | pass everything on from a reader to a writer | `copy`, or `copy_bidirectional` for a proxy |
//! | read and write in different tasks | `split`, or the `into_split` of a socket |
//! | connect two parts of a program, or test without a socket | `duplex` |
//!
//! The extension traits must be in scope: `use wakeful::io::{AsyncReadExt, AsyncWriteExt};`.
//!
//! The traits live in the crate `wakeful_io`. This module adds what needs a runtime: `watched`
//! registers descriptors with the I/O driver, `stdio` and `staging` transfer bytes through the
//! blocking pool.
//!
//! ```
//! # #[cfg(all(feature = "net", feature = "rt-multi-thread", feature = "io-util"))] {
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::io::{AsyncReadExt, AsyncWriteExt};
//! use wakeful::net::UnixStream;
//!
//! let (mut near, mut far) = UnixStream::pair()?;
//! near.write_all(b"hello").await?;
//! drop(near);
//!
//! let mut text = String::new();
//! far.read_to_string(&mut text).await?;
//! assert_eq!(text, "hello");
//! # std::io::Result::Ok(()) }).unwrap();
//! # }
//! ```

#[cfg(feature = "net")]
mod async_fd;
#[cfg(any(feature = "net", feature = "process"))]
pub(crate) mod fd;
#[cfg(any(feature = "fs", feature = "io-std"))]
mod staging;
#[cfg(feature = "io-std")]
mod stdio;
#[cfg(any(feature = "net", feature = "process"))]
mod watched;

pub use wakeful_io::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};

#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};

#[cfg(feature = "io-util")]
pub use wakeful_io::{
    AsyncBufReadExt, AsyncReadExt, AsyncSeekExt, AsyncWriteExt, BufReader, BufStream, BufWriter,
    Chain, DuplexStream, Empty, Join, Lines, ReadHalf, Repeat, SimplexStream, Sink, Split, Take,
    WriteHalf, copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf, duplex, empty,
    join, repeat, simplex, sink, split,
};

#[cfg(feature = "io-std")]
pub use stdio::{Stderr, Stdin, Stdout, stderr, stdin, stdout};

#[cfg(any(feature = "fs", feature = "io-std"))]
pub(crate) use staging::{Staging, TRANSFER_MAX};

#[cfg(feature = "net")]
pub use wakeful_reactor::{Interest, Ready};
#[cfg(any(feature = "net", feature = "process"))]
pub(crate) use watched::Watched;

/// Types for the descriptors of Unix-like systems.
///
/// ```
/// use std::{io::Write, os::unix::net::UnixStream};
/// use wakeful::io::{Interest, unix::AsyncFd};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (reader, mut writer) = UnixStream::pair()?;
/// reader.set_nonblocking(true)?;
/// // SAFETY: a `UnixStream` returns the same open descriptor as long as it lives.
/// let reader = unsafe { AsyncFd::register_with_interest(reader, Interest::READABLE)? };
/// writer.write_all(b"news")?;
/// assert!(reader.readable().await?.ready().is_readable());
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[cfg(feature = "net")]
pub mod unix {
    #[expect(deprecated, reason = "the old name is part of the API")]
    pub use super::async_fd::AsyncFdTryNewError;
    pub use super::async_fd::{
        AsyncFd, AsyncFdReadyGuard, AsyncFdReadyMutGuard, AsyncFdRegisterError, TryIoError,
    };
}
