//! Pipes: anonymous pipes, and named ones in the file system (FIFOs).
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

/// Creates a pipe, and returns its two ends.
///
/// # Errors
/// Returns an error if the kernel cannot create a pipe.
///
/// # Panics
/// Panics if there is no current runtime, or its I/O driver is disabled.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// use std::process::Stdio;
/// use wakeful::io::AsyncReadExt;
/// use wakeful::net::unix::pipe::pipe;
/// use wakeful::process::Command;
///
/// // One pipe for both outputs of a child process.
/// let (sender, mut receiver) = pipe()?;
/// let out = sender.into_blocking_fd()?;
/// let err = out.try_clone()?;
/// let mut command = Command::new("sh");
/// command.args(["-c", "echo out; echo err >&2"]);
/// command.stdout(Stdio::from(out)).stderr(Stdio::from(err));
/// let mut child = command.spawn()?;
/// drop(command); // it holds the sending end, too
///
/// let mut text = String::new();
/// receiver.read_to_string(&mut text).await?;
/// assert_eq!(text, "out\nerr\n");
/// child.wait().await?;
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[track_caller]
pub fn pipe() -> io::Result<(Sender, Receiver)> {
    let (reader, writer) = pipe_fd::new_pipe()?;
    Ok((Sender::watch(writer.into(), "pipe")?, Receiver::watch(reader.into(), "pipe")?))
}
