//! A connection to a program's console: a request and its answer are one line of JSON each.

use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;
use tonic::Status;

use crate::find::Process;

/// The version of the protocol that this program knows.
const PROTOCOL: u64 = 1;

/// How long an answer may take. The kernel accepts connections for a stopped program, too.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The limit on rows of an answer, from the protocol.
const ROWS_MAX: usize = 500;

/// A connection. While there is one, the program records what its tasks do.
pub struct Program {
    stream: BufReader<UnixStream>,
    pid: u32,
    /// When the program's clock was zero.
    epoch: SystemTime,
}

/// What a program does at one time.
pub struct Look {
    /// When this was, in microseconds of the program's clock.
    pub time_us: u64,
    /// Since when the program records, on the same clock.
    pub recorded_since_us: u64,
    /// The rows of all tasks.
    pub tasks: Vec<Value>,
    /// Whether all tasks are of the same moment, so that a missing one has ended.
    pub is_of_one_moment: bool,
    /// The rows of locks and channels.
    pub objects: Vec<Value>,
}

impl Program {
    /// Connects to a process.
    pub async fn connect(process: &Process) -> Result<Program, Status> {
        let pid = process.pid;
        let stream = UnixStream::connect(&process.path).await.map_err(|error| {
            Status::unavailable(format!("could not connect to process {pid}: {error}"))
        })?;
        let mut program =
            Program { stream: BufReader::new(stream), pid, epoch: SystemTime::UNIX_EPOCH };
        let greeting = program.read().await?;
        match greeting["protocol"].as_u64() {
            Some(PROTOCOL) => {}
            Some(other) => {
                return Err(Status::failed_precondition(format!(
                    "process {pid} speaks version {other} of the console protocol, and this \
                     console-bridge knows version {PROTOCOL}. Build it from the Wakeful that the \
                     program was built with"
                )));
            }
            None => {
                let why = format!("process {pid} does not speak the console protocol");
                return Err(Status::failed_precondition(why));
            }
        }
        let time = Duration::from_micros(greeting["time_us"].as_u64().unwrap_or_default());
        program.epoch = SystemTime::now() - time;
        Ok(program)
    }

    /// Returns when the program's clock was zero.
    pub fn epoch(&self) -> SystemTime {
        self.epoch
    }

    /// Sends a request and returns the answer.
    pub async fn ask(&mut self, request: Value) -> Result<Value, Status> {
        let line = format!("{request}\n");
        let sent = self.stream.get_mut().write_all(line.as_bytes()).await;
        sent.map_err(|_closed| self.ended())?;
        self.read().await
    }

    async fn read(&mut self) -> Result<Value, Status> {
        let pid = self.pid;
        let mut line = String::new();
        match timeout(ANSWER_TIMEOUT, self.stream.read_line(&mut line)).await {
            Ok(Ok(_)) if line.ends_with('\n') => {}
            Ok(_) => return Err(self.ended()),
            Err(_) => {
                return Err(Status::deadline_exceeded(format!(
                    "process {pid} does not answer. It may be stopped, or so busy that its console's \
                     thread does not run"
                )));
            }
        }
        let answer: Value = serde_json::from_str(&line).map_err(|error| {
            Status::internal(format!("process {pid} has sent no JSON: {error}"))
        })?;
        match answer["error"].as_str() {
            Some(error) => Err(Status::unavailable(format!("process {pid}: {error}"))),
            None => Ok(answer),
        }
    }

    fn ended(&self) -> Status {
        Status::unavailable(format!("process {} has ended or closed the connection", self.pid))
    }

    /// Asks for all tasks and objects. The program asks tasks that wait for these who holds them, by
    /// a poll more, unless it was started with `WAKEFUL_CONSOLE=nopoll`.
    pub async fn look(&mut self) -> Result<Look, Status> {
        let summary = self.ask(json!({ "get": "summary" })).await?;
        let number = |name: &str| summary[name].as_u64().unwrap_or_default();
        let recorded_since_us = number("time_us").saturating_sub(number("watched_us"));
        let mut objects = self.ask(json!({ "get": "objects" })).await?;
        let mut look = Look {
            time_us: 0,
            recorded_since_us,
            tasks: Vec::new(),
            is_of_one_moment: true,
            objects: take_rows(&mut objects),
        };
        loop {
            let offset = look.tasks.len();
            let request = json!({ "get": "tasks", "offset": offset, "limit": ROWS_MAX });
            let mut answer = self.ask(request).await?;
            let rows = take_rows(&mut answer);
            let time_us = answer["time_us"].as_u64().unwrap_or_default();
            look.is_of_one_moment &= offset == 0 || time_us == look.time_us;
            look.time_us = time_us;
            let is_last = rows.len() < ROWS_MAX;
            look.tasks.extend(rows);
            if is_last {
                return Ok(look);
            }
        }
    }

    /// Asks for the row of one task.
    pub async fn task(&mut self, id: u64) -> Result<Value, Status> {
        Ok(self.ask(json!({ "get": "task", "task": id })).await?["row"].take())
    }
}

fn take_rows(answer: &mut Value) -> Vec<Value> {
    match answer["rows"].take() {
        Value::Array(rows) => rows,
        _ => Vec::new(),
    }
}
