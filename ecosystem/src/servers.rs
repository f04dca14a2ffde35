//! The addresses of the servers that some tests use.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Returns the address of PostgreSQL, as `host:port`.
pub fn postgres() -> String {
    address("WAKEFUL_POSTGRES")
}

/// Returns the address of Redis, as `host:port`.
pub fn redis() -> String {
    address("WAKEFUL_REDIS")
}

/// Returns the address of NATS with JetStream, as `host:port`.
pub fn nats() -> String {
    address("WAKEFUL_NATS")
}

/// Returns a name that no other test of this process uses on the same server.
pub fn unique(what: &str) -> String {
    static USED: AtomicUsize = AtomicUsize::new(0);
    format!("{what}_{}_{}", std::process::id(), USED.fetch_add(1, Relaxed))
}

fn address(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} is not set to the address of the server: run this test with `cargo xtask servers`")
    })
}
