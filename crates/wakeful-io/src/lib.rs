//! Traits, adapters and helpers for asynchronous byte streams.
//!
//! [`AsyncRead`], [`AsyncWrite`], [`AsyncBufRead`] and [`AsyncSeek`] correspond to `Read`, `Write`,
//! `BufRead` and `Seek` of the standard library, but return `Pending` where those block.
//! Implementations write the `poll_…` methods; users import the extension traits ([`AsyncReadExt`]
//! and its siblings), whose methods are awaited.
//!
//! This crate knows neither file descriptors nor tasks, so it works with any runtime. It has the
//! names, signatures and behaviour of `tokio::io`.
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
//! # Modules
//!
//! Each module uses only modules above it in this table. A read passes from an extension trait's
//! future through `contract`, which checks what the reader returns, to the reader's `poll_read`; a
//! write takes the same way.
//!
//! | module | contents |
//! |---|---|
//! | `traits` | the four traits and [`ReadBuf`] |
//! | `contract` | calls to `poll_read` and `poll_write` that check the results |
//! | `number`, `search`, `text`, `window` | byte order, finding a byte, `String`s, read buffers |
//! | `read`, `write`, `buf_read`, `seek` | the extension traits with their futures and adapters |
//! | `buffered` | [`BufReader`], [`BufWriter`], [`BufStream`] |
//! | `copy` | [`copy`](copy()), [`copy_buf`], [`copy_bidirectional`] |
//! | `halves`, `join` | splitting a stream in two halves, joining a reader and a writer |
//! | `memory` | in-memory pipes: [`duplex`], [`simplex`] |
//! | `trivial` | [`empty`], [`repeat`], [`sink`] |
//!
//! This crate is an implementation detail of `wakeful`. The parts of its API that Tokio does not
//! have may change in any release.

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
