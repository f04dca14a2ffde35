//! Wakeful under Tokio's name.
//!
//! Nothing here is its own: it gives `wakeful` the package name, version and features of Tokio, so that
//! a `[patch.crates-io]` puts a whole program, dependencies included, on Wakeful.

pub use wakeful::io;

#[cfg(feature = "net")]
pub use wakeful::net;

#[cfg(feature = "rt")]
pub use wakeful::{runtime, spawn, task, task_local};
