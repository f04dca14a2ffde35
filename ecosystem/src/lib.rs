//! Crates of the Tokio ecosystem, unmodified, at work on Wakeful.
//!
//! The tests are what this package is for: each file under `tests/` puts one of those crates to real use,
//! on a multi-thread and on a current-thread runtime. The package `tokio` that all of them link is the
//! drop-in, by `[patch.crates-io]` in the workspace's manifest. Here is what the tests share.

mod certificate;
mod payload;
mod runtimes;
mod scratch;
#[cfg(feature = "servers")]
pub mod servers;

pub use certificate::{client_tls, server_certificate, server_pem, server_tls};
pub use payload::{payload, same_bytes};
pub use runtimes::{on_current_thread, on_multi_thread};
pub use scratch::Scratch;
