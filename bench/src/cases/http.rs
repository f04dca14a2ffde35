//! Throughput of a small HTTP server: hyper on each contender's sockets.

use super::serving::under_load;
use crate::load::{Exchange, LATENCY_P50, LATENCY_P99, REQUESTS, SERVER_CPU, Traffic};
use crate::measure::{Metric, Sample, Scale};
use crate::runtime::HelloServer;
use crate::suite::Case;
use crate::{os, wrk};
use std::thread;
use std::time::Duration;

const CONNECTIONS: usize = 64;

pub fn cases<R: HelloServer>() -> Vec<Case> {
    vec![Case::new(
        "http/hello_64c",
        "hyper's greeting on each of 64 connections, asked for by wrk where it is installed",
        hello::<R>,
    )]
}

fn hello<R: HelloServer>(scale: Scale) -> Sample {
    if wrk::is_installed() {
        hello_under_wrk::<R>()
    } else {
        hello_for::<R>(Duration::from_millis(scale.pick(1_000, 200) as u64))
    }
}

fn serve<R: HelloServer>(listener: std::net::TcpListener) {
    R::run(async move { R::serve_hello(listener).await });
}

/// Greets on each of 64 connections of our own load generator for this time.
pub fn hello_for<R: HelloServer>(span: Duration) -> Sample {
    let traffic = Traffic {
        connections: CONNECTIONS,
        exchange: Exchange::Hello,
        pace: None,
        reconnects: false,
        warm_up: Duration::from_millis(150),
        span,
    };
    under_load(traffic, serve::<R>)
}

fn hello_under_wrk<R: HelloServer>() -> Sample {
    let listener = os::listen().expect("loopback can be listened on");
    let server = listener.local_addr().expect("a listener has an address");
    thread::spawn(move || serve::<R>(listener));
    let cpu = os::process_cpu_time();
    let report = wrk::run(server, CONNECTIONS).unwrap_or_else(|why| panic!("wrk: {why}"));
    let cpu_ns = (os::process_cpu_time() - cpu).as_nanos() as f64;
    vec![
        Metric::higher_is_better(REQUESTS, "/s", report.requests_per_second),
        Metric::lower_is_better(LATENCY_P50, "us", report.p50_us),
        Metric::lower_is_better(LATENCY_P99, "us", report.p99_us),
        Metric::lower_is_better(SERVER_CPU, "ns/request", cpu_ns / report.requests),
    ]
}
