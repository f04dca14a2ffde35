//! Buffered reading: `AsyncBufReadExt`, its futures, and the streams [`Lines`] and [`Split`].

mod ext;
mod fill;
mod line;
mod lines;
mod split;
mod until;

pub use ext::AsyncBufReadExt;
pub use lines::Lines;
pub use split::Split;
