//! Buffered readers and writers, which combine many small calls into few large ones.

mod reader;
mod stream;
mod writer;

pub use reader::BufReader;
pub use stream::BufStream;
pub use writer::BufWriter;
