//! Child processes, awaited.
//!
//! [`Command`] is that of the standard library, but what it starts is a [`Child`] whose end and whose
//! streams are awaited instead of blocked on.
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use wakeful::process::Command;
//!
//! let output = Command::new("echo").arg("hello").output().await?;
//! assert!(output.status.success());
//! assert_eq!(output.stdout, b"hello\n");
//! # std::io::Result::Ok(()) }).unwrap();
//! ```
//!
//! Write to a child, and read from it at the same time:
//!
//! ```
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! use std::process::Stdio;
//! use wakeful::io::AsyncWriteExt;
//! use wakeful::process::Command;
//!
//! let mut sort =
//!     Command::new("sort").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
//! let mut stdin = sort.stdin.take().unwrap();
//! wakeful::spawn(async move {
//!     // Its drop ends the input.
//!     stdin.write_all(b"pear\napple\n").await
//! });
//! assert_eq!(sort.wait_with_output().await?.stdout, b"apple\npear\n");
//! # std::io::Result::Ok(()) }).unwrap();
//! ```
//!
//! # Children that nobody waits for
//!
//! A child goes on when its [`Child`] is dropped, unless [`Command::kill_on_drop`] says otherwise. A child
//! that has ended must be waited for by somebody, or else it stays in the system's table of processes.
//! Of those whose `Child` was dropped, the runtime they were started in takes care; if that has shut
//! down, a thread does that ends with the last of them.
//!
//! # How the end of a child is noticed
//!
//! By a descriptor of the process, where the kernel has such (Linux 5.3 and later) and one can be had. If
//! not, by `SIGCHLD`, for which a handler is put in place then.

mod child;
mod command;
mod exit_watch;
mod orphan;
mod reaper;
mod running;
mod stdio;

pub use child::Child;
pub use command::Command;
pub use stdio::{ChildStderr, ChildStdin, ChildStdout};
