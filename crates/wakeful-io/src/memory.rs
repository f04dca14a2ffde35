//! In-memory streams: [`duplex`] (two directions) and [`simplex`] (one), both made of `Pipe`s.

mod duplex;
mod pipe;
mod simplex;

pub use duplex::{DuplexStream, duplex};
pub use simplex::{SimplexStream, simplex};
