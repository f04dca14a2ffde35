//! Shared code of the cases that measure servers.

use crate::child;
use crate::load::{Load, Traffic};
use crate::measure::Sample;
use crate::os;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// How long a load generator may take beyond the time of its traffic.
const SLACK: Duration = Duration::from_secs(10);

/// Runs `serve`, which never returns, on its own thread, and returns the measurements under
/// `traffic`.
///
/// The process of the sample is the server. Another process generates the load.
pub fn under_load(traffic: Traffic, serve: impl FnOnce(TcpListener) + Send + 'static) -> Sample {
    let listener = os::listen().expect("loopback can be listened on");
    let server = listener.local_addr().expect("a listener has an address");
    thread::spawn(move || serve(listener));
    let limit = traffic.warm_up + traffic.span + SLACK;
    let load = Load { server, server_pid: std::process::id(), traffic };
    child::put_load(&load, limit).unwrap_or_else(|why| panic!("{why}"))
}
