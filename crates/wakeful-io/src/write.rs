//! Writing: `AsyncWriteExt` and its futures.

mod all;
mod all_buf;
mod ext;
mod flush;
mod from_buf;
mod number;
mod shutdown;
mod some;
mod vectored;

pub use ext::AsyncWriteExt;
