//! Where the servers are that some tests talk to.

use std::env;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// PostgreSQL, as `host:port`.
pub fn postgres() -> String {
    address("WAKEFUL_POSTGRES")
}

/// Redis, as `host:port`.
pub fn redis() -> String {
    address("WAKEFUL_REDIS")
}

/// NATS with JetStream, as `host:port`.
pub fn nats() -> String {
    address("WAKEFUL_NATS")
}

/// A name that no other test of this process uses on the same server.
pub fn unique(what: &str) -> String {
    static USED: AtomicUsize = AtomicUsize::new(0);
    format!("{what}_{}_{}", std::process::id(), USED.fetch_add(1, Relaxed))
}

fn address(variable: &str) -> String {
    env::var(variable).unwrap_or_else(|_| {
        panic!("{variable} does not say where the server is: run the test by `cargo xtask servers`")
    })
}
