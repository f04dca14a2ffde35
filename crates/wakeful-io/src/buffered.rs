//! Readers and writers with a buffer, so that many small calls become few large ones.

mod reader;
mod stream;
mod writer;

pub use reader::BufReader;
pub use stream::BufStream;
pub use writer::BufWriter;
