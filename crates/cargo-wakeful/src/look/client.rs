//! A connection to a program: a request and its answer are one line each.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use serde_json::Value;

use super::sockets::Socket;

/// The version of the protocol that this program knows.
const PROTOCOL: u64 = 1;

/// How long a program may take to greet. The kernel accepts the connection for a stopped program.
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an answer may take. A dump of a large program that asks its tasks takes seconds.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A connected program.
pub struct Client {
    stream: BufReader<UnixStream>,
    pub pid: u32,
    /// When the process started, in clock ticks since boot.
    pub start: u64,
    /// The path of the program.
    pub program: String,
    /// The first line that the program sent.
    pub greeting: Value,
}

/// Why there is no answer.
#[derive(Debug)]
pub enum Failure {
    /// The program has ended, or has closed the connection.
    Ended,
    /// The program does not answer, or not as the protocol says.
    Broken(String),
}

impl Client {
    /// Connects, and removes the socket if its process has ended.
    pub fn connect(socket: &Socket) -> Result<Client, String> {
        let pid = socket.pid;
        let stream = UnixStream::connect(&socket.path).map_err(|error| {
            if error.kind() == io::ErrorKind::ConnectionRefused && !socket.has_process() {
                socket.remove();
                return format!("process {pid} has ended");
            }
            format!("could not connect to process {pid}: {}: {error}", socket.path.display())
        })?;
        let _cannot_fail = stream.set_read_timeout(Some(GREETING_TIMEOUT));
        let mut client = Client {
            stream: BufReader::new(stream),
            pid,
            start: socket.start,
            program: String::new(),
            greeting: Value::Null,
        };
        let line = client.read_line().map_err(|failure| match failure {
            Failure::Ended => format!("process {pid} has closed the connection"),
            Failure::Broken(_) => format!(
                "process {pid} does not answer. It may be stopped, or so busy that its console's \
                 thread does not run"
            ),
        })?;
        let greeting: Value = serde_json::from_str(&line).unwrap_or_default();
        if let Some(error) = greeting["error"].as_str() {
            return Err(format!("process {pid} refuses the connection: {error}"));
        }
        match greeting["protocol"].as_u64() {
            Some(PROTOCOL) => {}
            Some(other) => {
                return Err(format!(
                    "process {pid} speaks version {other} of the console protocol, and this \
                     cargo-wakeful {} knows version\n{PROTOCOL}. Install cargo-wakeful from the \
                     Wakeful that the program was built with ({})",
                    env!("CARGO_PKG_VERSION"),
                    greeting["wakeful"].as_str().unwrap_or("an unknown version"),
                ));
            }
            None => return Err(format!("process {pid} does not speak the console protocol")),
        }
        client.program = greeting["program"].as_str().unwrap_or_default().to_owned();
        client.greeting = greeting;
        let _cannot_fail = client.stream.get_ref().set_read_timeout(Some(ANSWER_TIMEOUT));
        Ok(client)
    }

    /// Returns the last part of the program's path.
    pub fn program_name(&self) -> &str {
        self.program.rsplit('/').next().unwrap_or_default()
    }

    /// Sends a request and returns the answer.
    pub fn ask(&mut self, request: Value) -> Result<Value, String> {
        let pid = self.pid;
        let line = self.ask_line(&request.to_string()).map_err(|failure| match failure {
            Failure::Ended => format!("process {pid} has ended"),
            Failure::Broken(why) => format!("process {pid}: {why}"),
        })?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(|error| format!("process {pid} has sent what is not JSON: {error}"))?;
        match answer["error"].as_str() {
            Some(error) => Err(format!("process {pid}: {error}")),
            None => Ok(answer),
        }
    }

    /// Sends a request, which is one line of JSON, and returns the line of the answer.
    pub fn ask_line(&mut self, request: &str) -> Result<String, Failure> {
        debug_assert!(!request.contains('\n'));
        let line = format!("{request}\n");
        self.stream.get_mut().write_all(line.as_bytes()).map_err(Failure::from)?;
        self.read_line()
    }

    fn read_line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        self.stream.read_line(&mut line)?;
        if line.ends_with('\n') { Ok(line) } else { Err(Failure::Ended) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        match error.kind() {
            io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Failure::Ended,
            io::ErrorKind::WouldBlock => Failure::Broken("there is no answer in time".into()),
            _ => Failure::Broken(error.to_string()),
        }
    }
}
