//! Streams that exist in memory only.

mod duplex;
mod pipe;
mod simplex;

pub use duplex::{DuplexStream, duplex};
pub use simplex::{SimplexStream, simplex};
