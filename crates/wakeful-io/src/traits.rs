//! The traits that readers and writers implement, and [`ReadBuf`], the buffer that readers fill.

mod async_buf_read;
mod async_read;
mod async_seek;
mod async_write;
pub(crate) mod forward;
mod read_buf;

pub use async_buf_read::AsyncBufRead;
pub use async_read::AsyncRead;
pub use async_seek::AsyncSeek;
pub use async_write::AsyncWrite;
pub use read_buf::ReadBuf;
