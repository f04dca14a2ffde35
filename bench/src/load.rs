//! The load generator: one thread with plain epoll, without a runtime, in its own process, the same
//! for every server.
//!
//! Each connection has at most one outstanding request. It sends the next one when the answer has
//! arrived, or, with a pace, when the next one is due. The generator is pinned to the last CPU; a
//! server may run on all of them.

use crate::hello::GREETING;
use crate::measure::{Metric, Sample, quantile};
use crate::os::{self, EdgePoll};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Metrics of a server: throughput, latency, and CPU time per request.
pub const REQUESTS: &str = "requests";
pub const LATENCY_P50: &str = "latency p50";
pub const LATENCY_P99: &str = "latency p99";
pub const SERVER_CPU: &str = "server CPU";

/// How long a server may not answer before the sample fails.
const PATIENCE: Duration = Duration::from_secs(5);

/// The server and its traffic. The generator's process gets this as JSON.
#[derive(Serialize, Deserialize)]
pub struct Load {
    pub server: SocketAddr,
    /// The process whose CPU time is divided by the number of requests.
    pub server_pid: u32,
    pub traffic: Traffic,
}

#[derive(Clone, Serialize, Deserialize)]
pub struct Traffic {
    pub connections: usize,
    pub exchange: Exchange,
    /// The interval between requests of each connection. Latency is then counted from the time at
    /// which a request was due, so that all requests during a pause of the server count, and not
    /// only the first.
    pub pace: Option<Duration>,
    /// Whether each exchange uses a new connection.
    pub reconnects: bool,
    pub warm_up: Duration,
    pub span: Duration,
}

/// A request and its answer.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub enum Exchange {
    /// This many bytes, which the server sends back.
    Echo { bytes: usize },
    /// An HTTP request, answered with [`GREETING`].
    Hello,
}

impl Exchange {
    fn request(self) -> Vec<u8> {
        match self {
            Exchange::Echo { bytes } => vec![b'e'; bytes],
            Exchange::Hello => b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".to_vec(),
        }
    }

    /// Returns the end of the answer.
    fn answer_end(self) -> Vec<u8> {
        match self {
            Exchange::Echo { .. } => self.request(),
            Exchange::Hello => GREETING.into(),
        }
    }
}

/// Generates load on the server and returns the measurements.
pub fn run(load: &Load) -> io::Result<Sample> {
    os::pin_to_cpu(os::cpus() - 1);
    let mut generator = Generator::connect(load.server, &load.traffic)?;
    generator.run_until(Instant::now() + load.traffic.warm_up)?;
    generator.latencies_ns.clear();

    let begun = Instant::now();
    let cpu_times = || (os::process_cpu_time_of(load.server_pid), os::process_cpu_time());
    let (server_begun, own_begun) = cpu_times();
    generator.run_until(begun + load.traffic.span)?;
    let span = begun.elapsed();
    let (server_ended, own_ended) = cpu_times();

    let mut latencies_ns = generator.latencies_ns;
    if latencies_ns.is_empty() {
        return Err(io::Error::new(ErrorKind::TimedOut, "the server answered no request"));
    }
    latencies_ns.sort_unstable();
    let requests = latencies_ns.len() as f64;
    let latency_us = |share| f64::from(quantile(&latencies_ns, share)) / 1e3;
    let server_ns = (server_ended - server_begun).as_nanos() as f64;
    let busy = (own_ended - own_begun).as_secs_f64() / span.as_secs_f64();
    Ok(vec![
        Metric::higher_is_better(REQUESTS, "/s", requests / span.as_secs_f64()),
        Metric::lower_is_better(LATENCY_P50, "us", latency_us(0.5)),
        Metric::lower_is_better(LATENCY_P99, "us", latency_us(0.99)),
        Metric::lower_is_better("latency p99.9", "us", latency_us(0.999)),
        Metric::lower_is_better(SERVER_CPU, "ns/request", server_ns / requests),
        Metric::for_context("generator busy", "%", 100.0 * busy),
    ])
}

struct Generator {
    server: SocketAddr,
    poll: EdgePoll,
    connections: Vec<Connection>,
    /// Connections that wait until their next request is due.
    idle: BinaryHeap<Reverse<(Instant, usize)>>,
    pace: Option<Duration>,
    reconnects: bool,
    request: Vec<u8>,
    /// Has the length of an answer.
    answer: Vec<u8>,
    latencies_ns: Vec<u32>,
}

struct Connection {
    stream: TcpStream,
    sent: usize,
    received: usize,
    /// When the outstanding request was sent, or was due. `None` if there is none.
    asked_at: Option<Instant>,
    /// When the next request is due, if there is a pace.
    due: Instant,
}

impl Generator {
    /// Opens all connections, and makes one exchange on each, so that the server has accepted all
    /// of them.
    fn connect(server: SocketAddr, traffic: &Traffic) -> io::Result<Generator> {
        let poll = EdgePoll::new()?;
        let request = traffic.exchange.request();
        let mut connections = Vec::with_capacity(traffic.connections);
        for _ in 0..traffic.connections {
            let mut stream = connect(server)?;
            stream.write_all(&request)?;
            let due = Instant::now();
            connections.push(Connection { stream, sent: 0, received: 0, asked_at: None, due });
        }
        let mut answer = Vec::new();
        for (connection, id) in connections.iter_mut().zip(0..) {
            answer = first_answer(&mut connection.stream, &traffic.exchange.answer_end())?;
            connection.stream.set_nonblocking(true)?;
            poll.add(&connection.stream, id)?;
        }
        // Spreads the connections evenly over the interval.
        let step = traffic.pace.unwrap_or_default() / traffic.connections as u32;
        let begun = Instant::now();
        for (connection, nth) in connections.iter_mut().zip(0..) {
            connection.due = begun + nth * step;
        }
        let idle =
            connections.iter().enumerate().map(|(id, idle)| Reverse((idle.due, id))).collect();
        let Traffic { pace, reconnects, .. } = *traffic;
        let latencies_ns = Vec::new();
        Ok(Generator {
            server,
            poll,
            connections,
            idle,
            pace,
            reconnects,
            request,
            answer,
            latencies_ns,
        })
    }

    fn run_until(&mut self, end: Instant) -> io::Result<()> {
        let mut ready = Vec::new();
        let mut next_due = self.ask_those_due()?;
        loop {
            let now = Instant::now();
            if now >= end {
                return Ok(());
            }
            let until = next_due.map_or(end, |due| due.min(end));
            self.poll.wait(until.saturating_duration_since(now), &mut ready)?;
            for &id in &ready {
                self.advance(id as usize)?;
            }
            if self.pace.is_some() {
                next_due = self.ask_those_due()?;
            }
        }
    }

    /// Sends all requests that are due. Returns when the next one is, or `None` if all connections
    /// wait for answers.
    fn ask_those_due(&mut self) -> io::Result<Option<Instant>> {
        while let Some(&Reverse((due, id))) = self.idle.peek() {
            let now = Instant::now();
            if due > now {
                return Ok(Some(due));
            }
            self.idle.pop();
            self.connections[id].ask(&self.request, now)?;
        }
        Ok(None)
    }

    /// Handles an event on a connection: an answer arrived, or there is space to send.
    fn advance(&mut self, id: usize) -> io::Result<()> {
        let connection = &mut self.connections[id];
        let Some(asked_at) = connection.asked_at else { return Ok(()) };
        if !connection.send(&self.request)? || !connection.receive(&mut self.answer)? {
            return Ok(());
        }
        let now = Instant::now();
        let latency_ns = (now - asked_at).as_nanos();
        self.latencies_ns.push(u32::try_from(latency_ns).unwrap_or(u32::MAX));
        if self.reconnects {
            connection.stream = connect(self.server)?;
            connection.stream.set_nonblocking(true)?;
            self.poll.add(&connection.stream, id as u64)?;
        }
        match self.pace {
            // Without a pace, the next latency is counted from now.
            None => connection.ask(&self.request, now),
            Some(pace) => {
                connection.due += pace;
                if connection.due <= now {
                    // The request was due before now, so its latency is counted from then.
                    return connection.ask(&self.request, connection.due);
                }
                connection.asked_at = None;
                self.idle.push(Reverse((connection.due, id)));
                Ok(())
            }
        }
    }
}

impl Connection {
    fn ask(&mut self, request: &[u8], since: Instant) -> io::Result<()> {
        (self.sent, self.received, self.asked_at) = (0, 0, Some(since));
        // An event will announce the answer, or space for the rest of the request.
        self.send(request).map(|_whole| ())
    }

    /// Sends what is left of the request. Returns whether all of it has been sent.
    fn send(&mut self, request: &[u8]) -> io::Result<bool> {
        while self.sent < request.len() {
            match self.stream.write(&request[self.sent..]) {
                Ok(n) => self.sent += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Receives what is left of the answer. Returns whether all of it has arrived.
    fn receive(&mut self, answer: &mut [u8]) -> io::Result<bool> {
        while self.received < answer.len() {
            match self.stream.read(&mut answer[self.received..]) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(n) => self.received += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    os::reset_on_close(&stream)?;
    Ok(stream)
}

/// Reads an answer. All further answers have its length.
fn first_answer(stream: &mut TcpStream, end: &[u8]) -> io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while !answer.ends_with(end) {
        match stream.read(&mut buffer)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            n => answer.extend_from_slice(&buffer[..n]),
        }
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    fn load(server: SocketAddr, pace: Option<Duration>) -> Load {
        let traffic = Traffic {
            connections: 3,
            exchange: Exchange::Echo { bytes: 16 * 1024 },
            pace,
            reconnects: false,
            warm_up: Duration::from_millis(10),
            span: Duration::from_millis(200),
        };
        Load { server, server_pid: std::process::id(), traffic }
    }

    /// Starts a server that sends everything back, and returns its address.
    fn echo_in_the_background() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let mut answers = stream.try_clone().unwrap();
                std::thread::spawn(move || io::copy(&mut stream, &mut answers));
            }
        });
        address
    }

    fn value(sample: &Sample, name: &str) -> f64 {
        sample.iter().find(|metric| metric.name == name).unwrap().value
    }

    #[test]
    fn answers_are_counted_and_timed() {
        let sample = run(&load(echo_in_the_background(), None)).unwrap();
        assert!(value(&sample, "requests") > 0.0);
        assert!(value(&sample, "latency p50") <= value(&sample, "latency p99"));
    }

    #[test]
    fn exchanges_may_use_new_connections() {
        let mut load = load(echo_in_the_background(), None);
        load.traffic.reconnects = true;
        let sample = run(&load).unwrap();
        assert!(value(&sample, "requests") > 0.0);
    }

    #[test]
    fn a_pace_is_not_exceeded() {
        let pace = Some(Duration::from_millis(20));
        let sample = run(&load(echo_in_the_background(), pace)).unwrap();
        // At 50 requests per second for each of three connections, and one more each at the start.
        assert!(value(&sample, "requests") <= 3.0 * (50.0 + 5.0), "{sample:?}");
    }

    #[test]
    fn a_server_that_hangs_up_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let accepting = std::thread::spawn(move || drop(listener.accept()));
        let outcome = run(&load(server, None));
        accepting.join().unwrap();
        assert!(outcome.is_err());
    }
}
