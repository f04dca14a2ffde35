//! Copying everything from a reader to a writer, in one direction or in both.

mod bidirectional;
mod buffered;
mod one_way;

pub use bidirectional::{copy_bidirectional, copy_bidirectional_with_sizes};
pub use buffered::copy_buf;
pub use one_way::copy;
