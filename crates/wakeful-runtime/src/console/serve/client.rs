//! One connection.
//!
//! A client that does not read its answers holds up no other one: the socket does not block, and
//! the client's next request is only read once the answer has been sent. One that reads nothing for
//! [`SEND_TIME_MAX`] is disconnected, since it takes the place of another one.

use super::json::Writer;
use super::socket::{self, POLLIN, POLLOUT, PollFd};
use crate::census::Names;
use std::io::{self, ErrorKind, Read};
use std::mem::take;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};
use wakeful_base::catch_panic::contain_panic;

/// The limit on the length of a request, with the end of its line.
const LINE_MAX: usize = 4096;

/// How long a client may take to read some part of an answer.
const SEND_TIME_MAX: Duration = Duration::from_secs(10);

/// A connection.
pub(super) struct Client {
    stream: UnixStream,
    /// What has been read and is no whole line yet.
    input: Vec<u8>,
    output: Vec<u8>,
    /// How much of the output has been sent.
    sent: usize,
    /// When some of the output was sent last.
    sent_at: Instant,
    /// No more requests are read. The connection ends when the output has been sent.
    is_ending: bool,
    /// The labels of locks and channels, which are the same in all answers to a client.
    names: Names,
}

/// The answer to a request, and whether the connection stays open.
pub(super) struct Answer {
    pub(super) line: String,
    pub(super) stays_open: bool,
}

/// Answers a request.
type AnswerLine<'a> = dyn FnMut(&[u8], &mut Names) -> Answer + 'a;

impl Client {
    /// Takes a connection, to which the first line is `hello`.
    pub(super) fn new(stream: UnixStream, hello: String) -> Client {
        let mut client = Client {
            stream,
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            sent_at: Instant::now(),
            is_ending: false,
            names: Names::default(),
        };
        client.put(hello);
        client
    }

    /// Returns what to wait for.
    pub(super) fn poll_fd(&self) -> PollFd {
        let events = if self.output.is_empty() { POLLIN } else { POLLOUT };
        PollFd { fd: self.stream.as_raw_fd(), events, revents: 0 }
    }

    /// Returns when the client is given up, unless it reads.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.output.is_empty()).then(|| self.sent_at + SEND_TIME_MAX)
    }

    /// Returns whether the connection is to be closed.
    pub(super) fn is_done(&self, now: Instant) -> bool {
        match self.deadline() {
            Some(deadline) => deadline <= now,
            None => self.is_ending,
        }
    }

    fn put(&mut self, line: String) {
        self.output = line.into_bytes();
        self.output.push(b'\n');
        (self.sent, self.sent_at) = (0, Instant::now());
    }

    fn end(&mut self) {
        self.is_ending = true;
        self.output = Vec::new();
    }

    /// Sends as much as fits.
    pub(super) fn send(&mut self) {
        while self.sent < self.output.len() {
            match socket::write(&self.stream, &self.output[self.sent..]) {
                Ok(len) => {
                    self.sent += len;
                    self.sent_at = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_gone) => return self.end(),
            }
        }
        // Long answers leave no memory behind.
        self.output = Vec::new();
    }

    /// Goes on with the connection: sends, then reads and answers.
    pub(super) fn serve(&mut self, answer: &mut AnswerLine<'_>) {
        self.send();
        if self.output.is_empty() && !self.is_ending {
            match self.read() {
                Ok(true) => {}
                // What is left of the input is no whole line.
                Ok(false) => return self.end(),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_gone) => return self.end(),
            }
        }
        while self.output.is_empty() && !self.is_ending {
            let Some(end) = self.input.iter().position(|byte| *byte == b'\n') else { break };
            let rest = self.input.split_off(end + 1);
            let line = std::mem::replace(&mut self.input, rest);
            self.answer(&line[..end], answer);
            self.send();
        }
        if self.input.len() >= LINE_MAX && !self.input.contains(&b'\n') {
            let text = "the request is longer than 4096 bytes";
            self.refuse(text);
            self.send();
        }
    }

    /// Reads what there is. Returns false at the end.
    fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; LINE_MAX];
        if self.input.contains(&b'\n') {
            return Ok(true);
        }
        let room = LINE_MAX - self.input.len();
        let len = self.stream.read(&mut buffer[..room])?;
        self.input.extend_from_slice(&buffer[..len]);
        Ok(len > 0)
    }

    fn answer(&mut self, line: &[u8], answer: &mut AnswerLine<'_>) {
        let mut names = take(&mut self.names);
        names.limit();
        let mut answered = None;
        contain_panic(|| answered = Some(answer(line, &mut names)));
        self.names = names;
        match answered {
            Some(Answer { line, stays_open }) => {
                self.put(line);
                self.is_ending = !stays_open;
            }
            None => self.refuse("the program panicked while it made the answer"),
        }
    }

    /// Sends an error, and ends the connection.
    fn refuse(&mut self, text: &str) {
        let mut json = Writer::default();
        json.open('{').text_member("error", text);
        json.close('}');
        self.put(json.finish());
        self.is_ending = true;
    }
}
