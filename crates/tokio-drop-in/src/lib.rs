//! Wakeful under Tokio's name.
//!
//! Nothing here is its own: it gives `wakeful` the package name, version and features of Tokio, so that
//! a `[patch.crates-io]` puts a whole program, dependencies included, on Wakeful.
//!
//! ```toml
//! [patch.crates-io]
//! tokio = { path = "../wakeful/crates/tokio-drop-in" }
//! ```
//!
//! The program stays as it is:
//!
//! ```
//! # #[cfg(all(feature = "macros", feature = "rt-multi-thread"))]
//! # mod program {
//! #[tokio::main]
//! async fn main() {
//!     let answer = tokio::spawn(async { 6 * 7 });
//!     assert_eq!(answer.await.unwrap(), 42);
//! }
//! # pub fn run() { main() }
//! # }
//! # #[cfg(all(feature = "macros", feature = "rt-multi-thread"))]
//! # program::run();
//! ```
//!
//! Examples in the documentation of what is re-exported name `wakeful`, where `tokio` does as well.

#[doc(hidden)]
pub use wakeful::macros;
pub use wakeful::{io, net, pin};

#[cfg(feature = "fs")]
pub use wakeful::fs;

#[cfg(feature = "process")]
pub use wakeful::process;

#[cfg(feature = "signal")]
pub use wakeful::signal;

#[cfg(feature = "rt")]
pub use wakeful::{runtime, spawn, task, task_local};

#[cfg(feature = "time")]
pub use wakeful::time;

#[cfg(feature = "sync")]
pub use wakeful::sync;

#[cfg(feature = "macros")]
pub use wakeful::{join, select, try_join};

#[cfg(all(feature = "macros", feature = "rt", feature = "rt-multi-thread"))]
pub use wakeful::drop_in::{tokio_main as main, tokio_test as test};
#[cfg(all(feature = "macros", feature = "rt", not(feature = "rt-multi-thread")))]
pub use wakeful::drop_in::{tokio_main_rt as main, tokio_test_rt as test};
#[cfg(all(feature = "macros", not(feature = "rt")))]
pub use wakeful::{main, test};

/// Tasks, once feature `rt` is on.
#[cfg(not(feature = "rt"))]
pub mod task {}

/// Streams are not here yet, in std neither: those over this crate's types are in `tokio-stream`.
pub mod stream {}
