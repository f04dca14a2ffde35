//! How many requests an echo server answers, how soon, and what each costs it.
//!
//! The sample's process is the server; the load comes from a process of its own, the same for every contender.

use crate::child;
use crate::load::{Exchange, Load};
use crate::measure::{Sample, Scale};
use crate::os;
use crate::runtime::EchoServer;
use crate::suite::Case;
use std::thread;
use std::time::Duration;

/// What a server has for each connection, at the least.
const BUFFER_BYTES_MIN: usize = 1024;

/// A load generator that takes longer counts as hung.
const LOAD_LIMIT: Duration = Duration::from_secs(15);

pub fn cases<R: EchoServer>() -> Vec<Case> {
    const KIB: usize = 1024;
    vec![
        Case::new("tcp_echo/1c_64B", "64 bytes there and back on 1 connection", |scale| {
            echo::<R>(scale, 1, 64)
        }),
        Case::new("tcp_echo/64c_64B", "64 bytes there and back on each of 64", |scale| {
            echo::<R>(scale, 64, 64)
        }),
        Case::new("tcp_echo/512c_64B", "64 bytes there and back on each of 512", |scale| {
            echo::<R>(scale, 512, 64)
        }),
        Case::new("tcp_echo/1c_16K", "16 KiB there and back on 1 connection", |scale| {
            echo::<R>(scale, 1, 16 * KIB)
        }),
        Case::new("tcp_echo/64c_16K", "16 KiB there and back on each of 64", |scale| {
            echo::<R>(scale, 64, 16 * KIB)
        }),
        Case::new("tcp_echo/512c_16K", "16 KiB there and back on each of 512", |scale| {
            echo::<R>(scale, 512, 16 * KIB)
        }),
    ]
}

fn echo<R: EchoServer>(scale: Scale, connections: usize, bytes: usize) -> Sample {
    let listener = os::listen().expect("loopback can be listened on");
    let load = Load {
        server: listener.local_addr().expect("a listener has an address"),
        server_pid: std::process::id(),
        connections,
        exchange: Exchange::Echo { bytes },
        warm_up_ms: scale.pick(150, 50) as u64,
        span_ms: scale.pick(750, 200) as u64,
    };
    thread::spawn(move || R::serve_echo(listener, bytes.max(BUFFER_BYTES_MIN)));
    child::put_load(&load, LOAD_LIMIT).unwrap_or_else(|why| panic!("{why}"))
}
