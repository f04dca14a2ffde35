//! Wakeful: an async runtime for Rust that keeps serving when a task blocks.
//!
//! It has the API of Tokio 1.54. On the multi-thread runtime, when a task blocks its worker,
//! another thread takes over the worker's queue, timers and I/O within a few milliseconds.
//!
//! A server that answers each connection in a task of its own, and a client:
//!
//! ```
//! # #[cfg(all(feature = "macros", feature = "rt-multi-thread"))]
//! # #[cfg(all(feature = "net", feature = "io-util"))]
//! # mod example {
//! use wakeful::io::{AsyncReadExt, AsyncWriteExt};
//! use wakeful::net::{TcpListener, TcpStream};
//!
//! #[wakeful::main]
//! async fn main() -> std::io::Result<()> {
//!     let listener = TcpListener::bind("127.0.0.1:0").await?;
//!     let address = listener.local_addr()?;
//!     wakeful::spawn(async move {
//!         while let Ok((mut socket, _)) = listener.accept().await {
//!             wakeful::spawn(async move { socket.write_all(b"hello").await });
//!         }
//!     });
//!
//!     let mut greeting = String::new();
//!     TcpStream::connect(address).await?.read_to_string(&mut greeting).await?;
//!     assert_eq!(greeting, "hello");
//!     Ok(())
//! }
//! # pub fn run() { main().unwrap() }
//! # }
//! # #[cfg(all(feature = "macros", feature = "rt-multi-thread"))]
//! # #[cfg(all(feature = "net", feature = "io-util"))]
//! # example::run();
//! ```
//!
//! `spawn` starts a task, which runs concurrently with the code that spawned it.
//! `#[main]` creates a runtime with a worker thread for each CPU and runs the `async` body on it. A
//! program that needs other settings builds its runtime itself:
//!
//! ```
//! # #[cfg(feature = "rt-multi-thread")] {
//! let runtime = wakeful::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
//! let sum = runtime.block_on(async {
//!     let parts: Vec<_> = (1..=10).map(|n| wakeful::spawn(async move { n * n })).collect();
//!     let mut sum = 0;
//!     for part in parts {
//!         sum += part.await.unwrap();
//!     }
//!     sum
//! });
//! assert_eq!(sum, 385);
//! # }
//! ```
//!
//! # Modules and features
//!
//! | to | use | feature |
//! |---|---|---|
//! | build, enter and shut down a runtime, read its metrics | `runtime` | `rt`, `rt-multi-thread` |
//! | spawn, join and abort tasks; run blocking code | `task` | `rt` |
//! | send messages, lock, notify | `sync` | `sync` |
//! | sleep, limit the time of a future, tick | `time` | `time` |
//! | read and write, with buffers and helpers | `io` | `io-util`; only the traits: `io` |
//! | use standard input, output and error | `io` | `io-std` |
//! | use TCP, UDP, Unix sockets, pipes and other descriptors | `net`, `io::unix` | `net` |
//! | use files and directories | `fs` | `fs` |
//! | start processes | `process` | `process` |
//! | receive signals of the operating system | `signal` | `signal` |
//! | use `#[main]`, `#[test]`, `select!`, `join!`, `try_join!` | | `macros` |
//! | pause and advance the clock in tests | `time` | `test-util` |
//! | trace single polls, as Tokio's task dumps do | `runtime::dump` | `taskdump` |
//!
//! The default features are `rt` and `rt-multi-thread`. `full` enables everything but `taskdump`
//! and `test-util`.
//! `pin!` needs no feature.
//!
//! # Tasks that block
//!
//! A task should return to the runtime within microseconds, by waiting at an `.await` or by ending.
//! Code that blocks or computes for longer belongs in `task::spawn_blocking`. If it runs in a task
//! nevertheless, the multi-thread runtime detects this after 2 ms (`Builder::stall_after`) and lets
//! another thread run the other tasks of that worker. The environment variable
//! `WAKEFUL_STALL_REPORT=1` makes any program report such tasks on standard error, and
//! `Builder::on_stall` calls a function instead. A current-thread runtime and a `LocalSet` cannot
//! hand their tasks over, and only report.
//!
//! ```
//! # #[cfg(feature = "rt-multi-thread")] {
//! use std::sync::mpsc;
//! use wakeful::runtime::Builder;
//!
//! let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
//! let blocking = runtime.spawn(async {
//!     let (sender, receiver) = mpsc::channel();
//!     wakeful::spawn(async move { sender.send("hello").unwrap() });
//!     receiver.recv().unwrap() // blocks the only worker until the other task has run
//! });
//! assert_eq!(runtime.block_on(blocking).unwrap(), "hello");
//! # }
//! ```
//!
//! # Programs written for Tokio
//!
//! The drop-in crate, `crates/tokio-drop-in` in the repository, has Tokio's package name and
//! version, and re-exports this crate. A `[patch.crates-io]` section puts it in Tokio's place for a
//! program and all its dependencies. Both names refer to the same runtime, so they can be mixed.
//!
//! # Platforms
//!
//! Linux is tested. Other Unix systems compile, but are untested; Windows is not supported.

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "fs")]
pub mod fs;
#[cfg(feature = "io")]
pub mod io;
#[doc(hidden)]
pub mod macros;
#[cfg(feature = "net")]
pub mod net;
#[cfg(feature = "process")]
pub mod process;
#[cfg(feature = "signal")]
pub mod signal;

/// Socket addresses. The types that use them need the feature `net`.
#[cfg(not(feature = "net"))]
pub mod net {
    mod addr;

    pub use addr::ToSocketAddrs;
}

#[cfg(feature = "rt")]
pub use wakeful_runtime::{runtime, task, task_local};

#[cfg(feature = "time")]
pub use wakeful_runtime::time;

#[cfg(feature = "rt")]
pub use task::spawn;

#[cfg(feature = "sync")]
#[doc(inline)]
pub use wakeful_sync as sync;

#[cfg(all(feature = "macros", feature = "rt", feature = "rt-multi-thread"))]
pub use wakeful_macros::{main, test};
#[cfg(all(feature = "macros", feature = "rt", not(feature = "rt-multi-thread")))]
pub use wakeful_macros::{main_rt as main, test_rt as test};
#[cfg(all(feature = "macros", not(feature = "rt")))]
pub use wakeful_macros::{without_rt as main, without_rt as test};

#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../README.md")]
mod readme {}

/// The attributes that the drop-in crate re-exports as `tokio::main` and `tokio::test`.
#[cfg(all(feature = "macros", feature = "rt"))]
#[doc(hidden)]
pub mod drop_in {
    pub use wakeful_macros::{tokio_main, tokio_main_rt, tokio_test, tokio_test_rt};
}
