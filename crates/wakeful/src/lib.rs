//! Wakeful: an async runtime for Rust.
//!
//! It has the API of Tokio 1.x under its own name, so a program moves over by changing the crate it
//! names, or through the drop-in crate without changing anything. A task that blocks its thread holds
//! nobody else up: another thread goes on with what waits behind it.
//!
//! ```
//! # #[cfg(all(feature = "macros", feature = "rt-multi-thread", feature = "net", feature = "io-util"))]
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
//! # #[cfg(all(feature = "macros", feature = "rt-multi-thread", feature = "net", feature = "io-util"))]
//! # example::run();
//! ```
//!
//! # What is where
//!
//! | module | has | takes feature |
//! |---|---|---|
//! | `runtime` | what runs tasks: how it is built, reached, shut down, measured | `rt`, `rt-multi-thread` (both by default) |
//! | `task` | spawning, joining, aborting; blocking code; local tasks and values | `rt` |
//! | `sync` | channels, locks, notifications | `sync` |
//! | `time` | sleeps, timeouts, intervals; a clock that tests can pause | `time`, `test-util` |
//! | `io` | traits for bytes that come and go, what is built on them, standard streams | `io`, `io-util`, `io-std` |
//! | `net` | TCP, UDP, Unix sockets, pipes | `net` |
//! | `fs` | files and directories | `fs` |
//! | `process` | child processes | `process` |
//! | `signal` | signals of the operating system | `signal` |
//!
//! `#[main]`, `#[test]`, `select!`, `join!` and `try_join!` come with feature `macros`; `pin!` is always there.
//!
//! Without them it is a few lines more:
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

/// Addresses; what takes them comes with feature `net`.
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
pub use wakeful_sync as sync;

#[cfg(all(feature = "macros", feature = "rt", feature = "rt-multi-thread"))]
pub use wakeful_macros::{main, test};
#[cfg(all(feature = "macros", feature = "rt", not(feature = "rt-multi-thread")))]
pub use wakeful_macros::{main_rt as main, test_rt as test};
#[cfg(all(feature = "macros", not(feature = "rt")))]
pub use wakeful_macros::{without_rt as main, without_rt as test};

/// What the drop-in re-exports under other names.
#[cfg(all(feature = "macros", feature = "rt"))]
#[doc(hidden)]
pub mod drop_in {
    pub use wakeful_macros::{tokio_main, tokio_main_rt, tokio_test, tokio_test_rt};
}
