//! Wakeful: an async runtime for Rust.
//!
//! Wakeful has the API of Tokio 1.x. A program moves to it by changing the name of the crate it
//! uses, or without any change through the drop-in crate. When a task blocks its worker on the
//! multi-thread runtime, another thread takes over the worker's queue, timers and I/O within a few
//! milliseconds.
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
//!         let (mut stream, _) = listener.accept().await?;
//!         stream.write_all(b"hello").await
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
//! # Modules
//!
//! | module | contents | feature |
//! |---|---|---|
//! | `runtime` | runtimes: building, entering, shutting down; metrics | `rt`, `rt-multi-thread` |
//! | `task` | spawning, joining, aborting; blocking code; local tasks, task-local values | `rt` |
//! | `sync` | channels, locks, notifications | `sync` |
//! | `time` | sleeps, timeouts, intervals; a clock that tests can pause | `time`, `test-util` |
//! | `io` | traits for asynchronous I/O, utilities, standard streams | `io`, `io-util`, `io-std` |
//! | `net` | TCP, UDP, Unix sockets, pipes | `net` |
//! | `fs` | files and directories | `fs` |
//! | `process` | child processes | `process` |
//! | `signal` | signals of the operating system | `signal` |
//!
//! `#[main]`, `#[test]`, `select!`, `join!` and `try_join!` need the feature `macros`; `pin!` is
//! always available.
//!
//! A program that does not use `#[main]` builds its runtime itself:
//!
//! ```
//! # #[cfg(feature = "rt-multi-thread")] {
//! let runtime = wakeful::runtime::Runtime::new().unwrap();
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

/// The attributes that the drop-in crate re-exports as `tokio::main` and `tokio::test`.
#[cfg(all(feature = "macros", feature = "rt"))]
#[doc(hidden)]
pub mod drop_in {
    pub use wakeful_macros::{tokio_main, tokio_main_rt, tokio_test, tokio_test_rt};
}
