//! The console's socket: other programs of the same user read here what the tasks do.
//!
//! `docs/design/console-protocol.md` defines the protocol. One thread serves all: the console's,
//! which waits for `SIGQUIT`, new clients, requests, and room for answers at the same time, and
//! never for a single client.
//!
//! | file | contents |
//! |---|---|
//! | `socket.rs` | where the socket is, which peers may connect; calls of the operating system |
//! | `client.rs` | one connection: lines in, lines out |
//! | `answer.rs` | what each request is answered with |
//! | `summary.rs` | runtimes and workers in figures; stalls |
//! | `rows.rs` | tasks as rows that can be sorted and filtered; groups of them |
//! | `graph.rs` | which actor waits for which object, and which one holds it |
//! | `leaves.rs` | where tasks wait, as they say when they are asked |
//! | `json.rs` | JSON |

mod answer;
mod client;
mod graph;
mod json;
mod leaves;
mod rows;
mod socket;
mod summary;

use super::Console;
use super::quit_signal::Requests;
use crate::census::Observer;
use client::Client;
use json::Writer;
use socket::{POLLIN, PollFd};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::{Duration, Instant};
use wakeful_task::recording;

/// The limit on connected clients.
const CLIENTS_MAX: usize = 4;

/// The socket and its clients.
pub(super) struct Server {
    listener: Option<UnixListener>,
    clients: Vec<Client>,
    /// Tasks are recorded while there are clients, or from the start.
    recording: Option<recording::Guard>,
    recent: Option<answer::RecentLook>,
    process: Process,
}

/// What does not change.
struct Process {
    /// The start time, as in the socket's name.
    start: String,
    /// Zero of the protocol's times.
    begun: Instant,
}

impl Process {
    /// Returns the current time.
    fn now_us(&self) -> u64 {
        self.begun.elapsed().as_micros() as u64
    }
}

impl Server {
    /// Creates the socket. If that fails, the server has no clients; the error says why.
    pub(super) fn new() -> (Server, io::Result<()>) {
        let (listener, start, result) = match socket::listen() {
            Ok((listener, start)) => (Some(listener), start, Ok(())),
            Err(error) => (None, String::new(), Err(error)),
        };
        let process = Process { start, begun: Instant::now() };
        (Server { listener, clients: Vec::new(), recording: None, recent: None, process }, result)
    }

    /// Serves clients until a dump is due.
    pub(super) fn serve(
        &mut self,
        requests: &mut Requests,
        console: &Console,
        observer: &mut Observer,
    ) {
        let until = console.settings.dump_interval.map(|interval| Instant::now() + interval);
        let mut fds = Vec::new();
        loop {
            let now = Instant::now();
            self.clients.retain(|client| !client.is_done(now));
            if self.clients.is_empty() {
                self.recent = None;
            }
            if self.clients.is_empty() && !console.settings.watches {
                self.recording = None;
            } else if self.recording.is_none() {
                self.recording = Some(recording::Guard::begin());
            }
            fds.clear();
            fds.push(PollFd { fd: requests.fd(), events: POLLIN, revents: 0 });
            fds.extend(self.clients.iter().map(Client::poll_fd));
            // Last, so that the others keep their places.
            let listener = self.listener.iter().map(AsRawFd::as_raw_fd);
            fds.extend(listener.map(|fd| PollFd { fd, events: POLLIN, revents: 0 }));
            let ends = self.clients.iter().filter_map(Client::deadline).chain(until);
            socket::wait(&mut fds, ends.min().map(|end| end.saturating_duration_since(now)));
            if fds[0].revents != 0 && requests.take() {
                return;
            }
            for (client, fd) in self.clients.iter_mut().zip(&fds[1..]) {
                if fd.revents != 0 {
                    client.serve(&mut |line, names| {
                        let (process, recent) = (&self.process, &mut self.recent);
                        answer::answer(line, names, console, observer, process, recent)
                    });
                }
            }
            if fds.len() > self.clients.len() + 1 && fds[fds.len() - 1].revents != 0 {
                self.accept();
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                return;
            }
        }
    }

    fn accept(&mut self) {
        let Some(listener) = &self.listener else { return };
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                if error.kind() != io::ErrorKind::WouldBlock {
                    // Out of descriptors: the client stays in the queue.
                    std::thread::sleep(Duration::from_millis(100));
                }
                return;
            }
        };
        if socket::is_allowed(&stream) && stream.set_nonblocking(true).is_ok() {
            self.admit(stream);
        }
    }

    fn admit(&mut self, stream: UnixStream) {
        let mut json = Writer::default();
        json.open('{');
        let is_full = self.clients.len() == CLIENTS_MAX;
        if is_full {
            json.text_member("error", "4 clients are connected already, which is the limit");
        } else {
            json.text_member("wakeful", env!("CARGO_PKG_VERSION"));
            json.number_member("protocol", 1);
            json.number_member("pid", std::process::id().into());
            json.text_member("start", &self.process.start);
            if let Ok(program) = std::env::current_exe() {
                json.text_member("program", &program.to_string_lossy());
            }
            json.number_member("time_us", self.process.now_us());
        }
        json.close('}');
        let mut client = Client::new(stream, json.finish());
        if is_full {
            // What does not fit into the socket's buffer is lost; a new one is empty.
            client.send();
        } else {
            client.send();
            self.clients.push(client);
        }
    }
}
