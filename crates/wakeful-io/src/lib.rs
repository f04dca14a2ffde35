//! Bytes that come and go without blocking: the traits, and everything that can be built from them
//! alone.
//!
//! [`AsyncRead`], [`AsyncWrite`], [`AsyncBufRead`] and [`AsyncSeek`] are what `Read`, `Write`,
//! `BufRead` and `Seek` of the standard library are, but return `Pending` where those block.
//! Whoever implements them writes the `poll_…` methods; whoever uses them imports the extension
//! traits, [`AsyncReadExt`] and its siblings, whose methods are awaited.
//!
//! This crate knows no file descriptors and no tasks. It works with any runtime, and is Tokio's
//! `tokio::io` under another name: same names, same signatures, same behaviour.
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};
//!
//! let (mut near, far) = duplex(64);
//! near.write_all(b"one\ntwo\n").await?;
//! drop(near);
//!
//! let mut lines = BufReader::new(far).lines();
//! assert_eq!(lines.next_line().await?.as_deref(), Some("one"));
//! assert_eq!(lines.next_line().await?.as_deref(), Some("two"));
//! assert_eq!(lines.next_line().await?, None);
//! # std::io::Result::Ok(()) }).unwrap();
//! ```
//!
//! # Where things are
//!
//! Each module uses only those above it in this list.
//!
//! | module | what it has |
//! |---|---|
//! | `traits` | the four traits and [`ReadBuf`] |
//! | `contract` | calls to `poll_read` and `poll_write` whose results may be relied on |
//! | `number`, `search`, `text`, `window` | numbers as bytes, where a byte is, strings being read, a buffer behind a reader |
//! | `read`, `write`, `buf_read`, `seek` | the extension traits with their futures and adapters |
//! | `buffered` | [`BufReader`], [`BufWriter`], [`BufStream`] |
//! | `copy` | [`copy`](copy()) and its kin |
//! | `halves`, `join` | one stream as two, two as one |
//! | `memory` | [`duplex`], [`simplex`] |
//! | `trivial` | [`empty`], [`repeat`], [`sink`] |
//!
//! This crate is an implementation detail of `wakeful`; its API outside of what Tokio has follows
//! no version promise.

mod buf_read;
mod buffered;
mod contract;
mod copy;
mod halves;
mod join;
mod memory;
mod number;
mod read;
mod search;
mod seek;
mod text;
mod traits;
mod trivial;
mod window;
mod write;

pub use buf_read::{AsyncBufReadExt, Lines, Split};
pub use buffered::{BufReader, BufStream, BufWriter};
pub use copy::{copy, copy_bidirectional, copy_bidirectional_with_sizes, copy_buf};
pub use halves::{ReadHalf, WriteHalf, split};
pub use join::{Join, join};
pub use memory::{DuplexStream, SimplexStream, duplex, simplex};
pub use read::{AsyncReadExt, Chain, Take};
pub use seek::AsyncSeekExt;
pub use traits::{AsyncBufRead, AsyncRead, AsyncSeek, AsyncWrite, ReadBuf};
pub use trivial::{Empty, Repeat, Sink, empty, repeat, sink};
pub use write::AsyncWriteExt;

#[doc(no_inline)]
pub use std::io::{Error, ErrorKind, Result, SeekFrom};
