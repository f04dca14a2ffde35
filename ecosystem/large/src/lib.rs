//! Tests of unmodified crates of the Tokio ecosystem on Wakeful, as in the package `ecosystem`.
//!
//! These crates are apart because they bring many dependencies, or need `--cfg tokio_unstable`. Run
//! `cargo test` in this folder, whose `.cargo/config.toml` sets that flag.

use std::net::TcpListener;

#[path = "../../src/runtimes.rs"]
mod runtimes;

pub use runtimes::{on_current_thread, on_multi_thread, within_limit};

/// Returns a port of the loopback address that no socket uses now.
pub fn unused_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("cannot bind to the loopback address");
    listener.local_addr().expect("a bound socket has an address").port()
}
