//! What the cases about servers share.

use crate::child;
use crate::load::{Load, Traffic};
use crate::measure::Sample;
use crate::os;
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

/// What a load generator may take on top of the time it was given.
const SLACK: Duration = Duration::from_secs(10);

/// Has `serve`, which never returns, serve connections on a thread of its own, and gives how it bore the traffic.
///
/// The sample's process is the server, and the load comes from another.
pub fn under_load(traffic: Traffic, serve: impl FnOnce(TcpListener) + Send + 'static) -> Sample {
    let listener = os::listen().expect("loopback can be listened on");
    let server = listener.local_addr().expect("a listener has an address");
    thread::spawn(move || serve(listener));
    let limit = traffic.warm_up + traffic.span + SLACK;
    let load = Load { server, server_pid: std::process::id(), traffic };
    child::put_load(&load, limit).unwrap_or_else(|why| panic!("{why}"))
}
