//! Child processes.
//!
//! [`Command`] has the methods of [`std::process::Command`]. It starts a [`Child`] whose exit and
//! whose streams are awaited instead of blocked on.
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
//! To write to a child and read from it at the same time:
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
//! # Dropped children
//!
//! A process keeps running when its [`Child`] is dropped, unless [`Command::kill_on_drop`] is set.
//! A process that has exited stays in the system's process table, as a zombie, until its parent
//! waits for it. The runtime that started the process waits for it if its `Child` was dropped. If
//! that runtime has shut down, a thread named `wakeful-reaper` does so; it exits after the last
//! such process.
//!
//! # How the exit of a child is detected
//!
//! The runtime watches a pidfd, where the kernel has pidfds (Linux 5.3 and later) and one can be
//! opened. Otherwise it installs a handler for `SIGCHLD`.

// `command.rs`, `child.rs` and `stdio.rs` hold the public types. A `Child` owns a `RunningChild`
// (`running.rs`) until the exit was observed; `exit_watch.rs` detects the exit. Dropping a
// `RunningChild` turns it into an orphan (`orphan.rs`), which moves to the thread in `reaper.rs` if
// its runtime is gone.

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
