//! Tests of unmodified crates of the Tokio ecosystem on Wakeful.
//!
//! Each file in `tests/` uses one of these crates in earnest, on a multi-thread and on a
//! current-thread runtime. All of the crates link the drop-in as their package `tokio`, through
//! `[patch.crates-io]` in the workspace's manifest. This library holds what the tests share.

mod certificate;
mod payload;
mod runtimes;
mod scratch;
#[cfg(feature = "servers")]
pub mod servers;

pub use certificate::{client_tls, server_certificate, server_pem, server_tls};
pub use payload::{payload, same_bytes};
pub use runtimes::{on_current_thread, on_multi_thread, within_limit};
pub use scratch::Scratch;
