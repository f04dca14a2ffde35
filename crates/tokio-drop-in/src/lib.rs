//! A drop-in replacement for Tokio 1.54 that runs on Wakeful.
//!
//! This crate only re-exports `wakeful` under the package name, version and features of Tokio. A
//! `[patch.crates-io]` section in the outermost `Cargo.toml` makes a whole program, including its
//! dependencies, use Wakeful:
//!
//! ```toml
//! [patch.crates-io]
//! tokio = { path = "../wakeful/crates/tokio-drop-in" }
//! ```
//!
//! The program needs no changes:
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
//! `cargo tree -i tokio` shows whether the patch is used: it prints the path of this crate.
//!
//! | of Tokio's | there is |
//! |---|---|
//! | stable API | everything: paths, signatures, bounds, implementations |
//! | features | all; `tracing` and `io-uring` do nothing |
//! | API behind `tokio_unstable` | everything, without that flag |
//!
//! The modules also contain what only Wakeful has, such as `Builder::on_stall` and
//! `RuntimeMetrics::stall_count`. A program that uses these no longer compiles on Tokio.
//!
//! The documentation of re-exported items uses the crate name `wakeful`; `tokio` works as well.

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

/// Tasks; enable feature `rt` to use this module.
#[cfg(not(feature = "rt"))]
pub mod task {}

/// A placeholder, as in Tokio. Streams over the types of this crate are in `tokio-stream`.
pub mod stream {}

// The examples of the READMEs are tested under Tokio's name.
#[cfg(all(doctest, feature = "full"))]
#[doc = include_str!("../../../README.md")]
mod readme {
    #[doc = include_str!("../../../README.zh-CN.md")]
    mod zh_cn {}
}
