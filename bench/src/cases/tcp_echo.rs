//! Throughput, latency and CPU time per request of an echo server.

use super::serving::under_load;
use crate::load::{Exchange, SERVER_CPU, Traffic};
use crate::measure::{Sample, Scale};
use crate::runtime::EchoServer;
use crate::suite::Case;
use std::time::Duration;

/// The minimal size of a server's buffer for a connection.
const BUFFER_BYTES_MIN: usize = 1024;

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
        Case::new(
            "tcp_echo/short_64B",
            "64 at a time, each for 64 bytes there and back",
            |scale| under_traffic::<R>(Traffic { reconnects: true, ..traffic(scale, 64, 64) }),
        )
        .headline(SERVER_CPU),
    ]
}

fn echo<R: EchoServer>(scale: Scale, connections: usize, bytes: usize) -> Sample {
    under_traffic::<R>(traffic(scale, connections, bytes))
}

fn traffic(scale: Scale, connections: usize, bytes: usize) -> Traffic {
    Traffic {
        connections,
        exchange: Exchange::Echo { bytes },
        pace: None,
        reconnects: false,
        warm_up: Duration::from_millis(scale.pick(150, 50) as u64),
        // Long enough that one pause of all 64 connections stays above the p99.9.
        span: Duration::from_millis(scale.pick(750, 200) as u64),
    }
}

/// Echoes 64 bytes on each of 64 connections for this time.
pub fn echo_for<R: EchoServer>(span: Duration) -> Sample {
    under_traffic::<R>(Traffic { span, ..traffic(Scale::Full, 64, 64) })
}

fn under_traffic<R: EchoServer>(traffic: Traffic) -> Sample {
    let Exchange::Echo { bytes } = traffic.exchange else { unreachable!("nothing else is sent") };
    let buffer_bytes = bytes.max(BUFFER_BYTES_MIN);
    under_load(traffic, move |listener| {
        R::run(async move { R::serve_echo(listener, buffer_bytes).await })
    })
}
