//! The load generator: one thread with plain epoll and no runtime, in a process of its own, the same for every server.
//!
//! Closed loop: each connection has one request under way at all times. It is pinned to the last CPU; a server may run
//! on all of them.

use crate::measure::{Metric, Sample, quantile};
use crate::os::{self, EdgePoll};
use serde::{Deserialize, Serialize};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A server that does not answer for so long has failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What to do to which server. Handed to the generator's process as JSON.
#[derive(Serialize, Deserialize)]
pub struct Load {
    pub server: SocketAddr,
    /// Whose CPU time is divided by the number of requests.
    pub server_pid: u32,
    pub connections: usize,
    pub exchange: Exchange,
    pub warm_up_ms: u64,
    pub span_ms: u64,
}

/// What goes over a connection again and again.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub enum Exchange {
    /// So many bytes, which come back.
    Echo { bytes: usize },
}

impl Exchange {
    fn request(self) -> Vec<u8> {
        match self {
            Exchange::Echo { bytes } => vec![b'e'; bytes],
        }
    }

    /// What the answer ends with.
    fn answer_end(self) -> Vec<u8> {
        match self {
            Exchange::Echo { .. } => self.request(),
        }
    }
}

/// Puts the load on the server and tells how it bore it.
pub fn run(load: &Load) -> io::Result<Sample> {
    os::pin_to_cpu(os::cpus() - 1);
    let mut generator = Generator::connect(load)?;
    let warm = Instant::now() + Duration::from_millis(load.warm_up_ms);
    generator.run_until(warm)?;
    generator.latencies_ns.clear();

    let begun = Instant::now();
    let cpu_times = || (os::process_cpu_time_of(load.server_pid), os::process_cpu_time());
    let (server_begun, own_begun) = cpu_times();
    generator.run_until(begun + Duration::from_millis(load.span_ms))?;
    let span = begun.elapsed();
    let (server_ended, own_ended) = cpu_times();

    let mut latencies_ns = generator.latencies_ns;
    if latencies_ns.is_empty() {
        return Err(io::Error::new(ErrorKind::TimedOut, "not one request was answered"));
    }
    latencies_ns.sort_unstable();
    let requests = latencies_ns.len() as f64;
    let latency_us = |share| f64::from(quantile(&latencies_ns, share)) / 1e3;
    let server_ns = (server_ended - server_begun).as_nanos() as f64;
    let busy = (own_ended - own_begun).as_secs_f64() / span.as_secs_f64();
    Ok(vec![
        Metric::higher_is_better("requests", "/s", requests / span.as_secs_f64()),
        Metric::lower_is_better("latency p50", "us", latency_us(0.5)),
        Metric::lower_is_better("latency p99", "us", latency_us(0.99)),
        Metric::lower_is_better("latency p99.9", "us", latency_us(0.999)),
        Metric::lower_is_better("server CPU", "ns/request", server_ns / requests),
        Metric::for_context("generator busy", "%", 100.0 * busy),
    ])
}

struct Generator {
    poll: EdgePoll,
    connections: Vec<Connection>,
    request: Vec<u8>,
    /// As long as every answer is.
    answer: Vec<u8>,
    latencies_ns: Vec<u32>,
}

struct Connection {
    stream: TcpStream,
    sent: usize,
    received: usize,
    asked_at: Instant,
}

impl Generator {
    /// Connects, and has one exchange on each connection, so that the server has taken all of them on.
    fn connect(load: &Load) -> io::Result<Generator> {
        let poll = EdgePoll::new()?;
        let request = load.exchange.request();
        let mut answer = Vec::new();
        let mut connections = Vec::with_capacity(load.connections);
        for id in 0..load.connections {
            let mut stream = TcpStream::connect(load.server)?;
            stream.set_nodelay(true)?;
            os::reset_on_close(&stream)?;
            answer = first_exchange(&mut stream, &request, &load.exchange.answer_end())?;
            stream.set_nonblocking(true)?;
            poll.add(&stream, id as u64)?;
            connections.push(Connection { stream, sent: 0, received: 0, asked_at: Instant::now() });
        }
        let mut generator =
            Generator { poll, connections, request, answer, latencies_ns: Vec::new() };
        for id in 0..generator.connections.len() {
            generator.ask(id, Instant::now())?;
        }
        Ok(generator)
    }

    fn run_until(&mut self, end: Instant) -> io::Result<()> {
        let mut ready = Vec::new();
        loop {
            let now = Instant::now();
            if now >= end {
                return Ok(());
            }
            self.poll.wait(end - now, &mut ready)?;
            for &id in &ready {
                self.advance(id as usize)?;
            }
        }
    }

    /// Something came, or there is room to send.
    fn advance(&mut self, id: usize) -> io::Result<()> {
        let connection = &mut self.connections[id];
        if !connection.send(&self.request)? || !connection.receive(&mut self.answer)? {
            return Ok(());
        }
        let now = Instant::now();
        let latency = now - connection.asked_at;
        self.latencies_ns.push(u32::try_from(latency.as_nanos()).unwrap_or(u32::MAX));
        self.ask(id, now)
    }

    fn ask(&mut self, id: usize, now: Instant) -> io::Result<()> {
        let connection = &mut self.connections[id];
        (connection.sent, connection.received, connection.asked_at) = (0, 0, now);
        // The answer, or room for the rest of the request, comes with an edge.
        connection.send(&self.request).map(|_whole| ())
    }
}

impl Connection {
    /// True when the whole request has been sent.
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

    /// True when the whole answer has come.
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

/// Gives the answer, whose length that of all others will be.
fn first_exchange(stream: &mut TcpStream, request: &[u8], end: &[u8]) -> io::Result<Vec<u8>> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(request)?;
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

    /// The address of a server that sends everything back.
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

    #[test]
    fn answers_are_counted_and_timed() {
        let sample = run(&Load {
            server: echo_in_the_background(),
            server_pid: std::process::id(),
            connections: 3,
            exchange: Exchange::Echo { bytes: 16 * 1024 },
            warm_up_ms: 10,
            span_ms: 100,
        })
        .unwrap();
        let value = |name: &str| sample.iter().find(|metric| metric.name == name).unwrap().value;
        assert!(value("requests") > 0.0);
        assert!(value("latency p50") <= value("latency p99"));
    }

    #[test]
    fn a_server_that_hangs_up_is_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = listener.local_addr().unwrap();
        let accepting = std::thread::spawn(move || drop(listener.accept()));
        let outcome = run(&Load {
            server,
            server_pid: std::process::id(),
            connections: 1,
            exchange: Exchange::Echo { bytes: 64 },
            warm_up_ms: 10,
            span_ms: 10,
        });
        accepting.join().unwrap();
        assert!(outcome.is_err());
    }
}
