//! Pipes, with a name in the file system (FIFOs) or without.
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::io::{AsyncReadExt, AsyncWriteExt};
//! use wakeful::net::unix::pipe;
//!
//! let (mut sender, mut receiver) = pipe::pipe()?;
//! sender.write_all(b"through").await?;
//! drop(sender);
//! let mut text = String::new();
//! receiver.read_to_string(&mut text).await?;
//! assert_eq!(text, "through");
//! # std::io::Result::Ok(()) }).unwrap();
//! ```

mod open_options;
mod pipe_end;
mod pipe_fd;
mod receiver;
mod sender;

pub use open_options::OpenOptions;
pub use receiver::Receiver;
pub use sender::Sender;

use std::io;

/// A new pipe: its two ends.
///
/// # Errors
/// If the kernel gives none.
///
/// # Panics
/// Outside of a runtime with I/O.
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (reader, writer) = pipe_fd::new_pipe()?;
    Ok((Sender::watch(writer.into(), "pipe")?, Receiver::watch(reader.into(), "pipe")?))
}
