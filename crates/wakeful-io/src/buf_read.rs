//! Reading from a buffer: `AsyncBufReadExt` and the futures and iterators that it makes.

mod ext;
mod fill;
mod line;
mod lines;
mod split;
mod until;

pub use ext::AsyncBufReadExt;
pub use lines::Lines;
pub use split::Split;
