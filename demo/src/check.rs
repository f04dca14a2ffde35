//! `--check`: tests the service from outside, without a browser, and prints what passed.
//!
//! The client uses only `std`, so that it does not depend on the code it tests.

use crate::actions::{HELD_FOR, MANY, TICKERS};
use crate::arguments::Handoff;
use crate::response::Head;
use crate::running::Running;
use crate::say;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long anything may take: far more than it needs, for busy machines.
const PATIENCE: Duration = Duration::from_secs(30);
/// The maximum p99 latency while workers are blocked: half of the time that they are blocked. If
/// requests had to wait for the block, most would take longer.
const LATENCY_MAX: Duration = HELD_FOR.checked_div(2).expect("two is not zero");
/// With fewer requests, the p99 says nothing.
const ANSWERED_MIN: u64 = 100;

/// Runs all checks.
///
/// # Errors
/// Returns what is wrong. The check fails if blocked workers delay requests, so it fails without
/// hand-off.
pub fn run(handoff: Handoff) -> Result<(), String> {
    let running =
        Running::start([0], handoff).map_err(|why| format!("cannot start the service: {why}"))?;
    let service = running.address;
    files(service)?;
    other_sites(service)?;
    let mut events = Events::open(service)?;
    figures_move(&mut events)?;
    load(service, &mut events)?;
    block(service, &mut events)?;
    compute(service, &mut events)?;
    tasks(service, &mut events)?;
    timers(service, &mut events)?;
    no_load(service, &mut events)?;
    end(running, events)
}

fn files(service: SocketAddr) -> Result<(), String> {
    let page = ask(service, "GET", "/", "")?.expect_status(200)?;
    let files: Vec<&str> = page
        .split(['"', '\''])
        .filter(|text| text.starts_with('/') && (text.ends_with(".js") || text.ends_with(".css")))
        .collect();
    ensure(page.contains("<title>Wakeful"), "`/`: the page has no title")?;
    ensure(files.len() >= 2, "`/`: the page loads no files")?;
    for file in &files {
        ask(service, "GET", file, "")?.expect_status(200)?;
    }
    passed(&format!("the page and its files load: {}", files.join(" ")))
}

fn other_sites(service: SocketAddr) -> Result<(), String> {
    ask(service, "POST", "/block/all", "Origin: http://other.example\r\n")?.expect_status(403)?;
    ask(service, "POST", "/load/1000000", "")?.expect_status(400)?;
    ask(service, "GET", "/nothing", "")?.expect_status(404)?;
    passed("requests from pages of other sites are rejected")
}

fn figures_move(events: &mut Events) -> Result<(), String> {
    let first = events.frame(|frame| frame["polls"].as_f64() > Some(0.0))?;
    let second = events.frame(|frame| {
        frame["at"].as_u64() > first["at"].as_u64() && frame["ticks"]["rate"].as_f64() > Some(0.0)
    })?;
    let workers = second["workers"].as_array().map_or(0, Vec::len);
    ensure(workers > 0, "the events show no worker")?;
    passed(&format!("the figures change; {workers} workers, {} tasks", second["tasks"]))
}

fn load(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/load/64", "")?.expect_status(204)?;
    let frame = events.frame(|frame| frame["requests"]["rate"].as_f64() > Some(0.0))?;
    ensure(frame["failed"] == 0, "requests failed")?;
    let requests = &frame["requests"];
    passed(&format!("clients: {} requests/s, p50 {} ms", requests["rate"], requests["p50"]))
}

fn block(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    let before = events.frame(|_| true)?;
    ask(service, "POST", "/block/all", "")?.expect_status(204)?;
    let action = events.action("block")?;
    let outcome = &action["outcome"];
    let answered = outcome["answered"].as_u64().unwrap_or(0);
    let slow = Duration::from_secs_f64(outcome["p99"].as_f64().unwrap_or(1e6) / 1e3);
    let text = format!("{answered} requests answered, p99 {slow:?}");
    ensure(answered >= ANSWERED_MIN, &format!("while all workers were blocked: only {text}"))?;
    ensure(slow < LATENCY_MAX, &format!("while all workers were blocked: {text}"))?;
    let workers = before["workers"].as_array().map_or(0, Vec::len) as u64;
    let counted = |frame: &Value| {
        let more = |name: &str| Some(frame[name].as_u64()? - before[name].as_u64()?);
        more("stalls") >= Some(workers) && more("handoffs") >= Some(1)
    };
    events.frame(counted)?;
    let stall = events.stall(|stall| {
        let is_ours = stall["site"].as_str().is_some_and(|site| site.contains("actions.rs"));
        is_ours && stall["over"] == true && stall["ms"].as_f64() >= Some(0.9e3)
    })?;
    passed(&format!("while {workers} workers were blocked for {HELD_FOR:?}: {text}"))?;
    passed(&format!(
        "the stall is listed: task {}, {}, {} ms",
        stall["task"], stall["site"], stall["ms"]
    ))
}

fn compute(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/compute", "")?.expect_status(204)?;
    let outcome = events.action("compute")?["outcome"].take();
    passed(&format!("while a task computed: {} requests answered", outcome["answered"]))
}

fn tasks(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/tasks", "")?.expect_status(204)?;
    events.frame(|frame| frame["tasks"].as_u64() >= Some(MANY as u64))?;
    let outcome = events.action("tasks")?["outcome"].take();
    passed(&format!(
        "{MANY} tasks: spawned in {} ms, ended in {} ms",
        outcome["spawned"], outcome["ended"]
    ))
}

fn timers(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/timers", "")?.expect_status(204)?;
    events.frame(|frame| frame["timers"].as_u64() > Some(TICKERS as u64))?;
    let outcome = events.action("timers")?["outcome"].take();
    events.frame(|frame| frame["timers"] == TICKERS)?;
    passed(&format!(
        "{MANY} timers: armed in {} ms, p99 lateness {} ms",
        outcome["armed"], outcome["p99"]
    ))
}

fn no_load(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/load/0", "")?.expect_status(204)?;
    events.frame(|frame| frame["requests"]["rate"] == 0.0)?;
    passed("clients stop when the load is switched off")
}

/// The service must end although a page is open and workers are blocked.
fn end(running: Running, mut events: Events) -> Result<(), String> {
    ask(running.address, "POST", "/block/all", "")?.expect_status(204)?;
    let begin = Instant::now();
    let summary = running.stop();
    let took = begin.elapsed();
    ensure(!summary.contains("cut off"), &summary)?;
    let rest = std::iter::from_fn(|| events.next().ok());
    ensure(
        rest.take(10_000).count() < 10_000,
        "the stream of events did not end with the service",
    )?;
    passed(&format!("{summary}; ending took {took:.0?}"))
}

/// The stream of events that the page reads.
struct Events {
    lines: BufReader<TcpStream>,
    actions: Value,
    stalls: Value,
    last_frame: Value,
}

impl Events {
    fn open(service: SocketAddr) -> Result<Events, String> {
        let mut stream = send(service, "GET", "/events", "")?;
        let mut head = Vec::new();
        while Head::parse(&head).map_err(no_answer)?.is_none() {
            let mut byte = [0];
            stream.read_exact(&mut byte).map_err(no_answer)?;
            head.extend(byte);
        }
        let nothing = || Value::Null;
        let lines = BufReader::new(stream);
        Ok(Events { lines, actions: nothing(), stalls: nothing(), last_frame: nothing() })
    }

    /// Reads an event and stores its data.
    fn next(&mut self) -> Result<(), String> {
        let mut line = || {
            let mut line = String::new();
            match self.lines.read_line(&mut line).map_err(no_answer)? {
                0 => Err("the stream of events ended early".to_owned()),
                _ => Ok(line),
            }
        };
        let (name, data) = (line()?, line()?);
        line()?;
        let data = data.strip_prefix("data: ").ok_or_else(|| format!("not an event: {data}"))?;
        let data = serde_json::from_str(data).map_err(|why| format!("{why}: {data}"))?;
        match name.trim_end() {
            "event: frame" => self.last_frame = data,
            "event: actions" => self.actions = data,
            "event: stalls" => self.stalls = data,
            other => return Err(format!("unknown event: {other}")),
        }
        Ok(())
    }

    /// Reads events until `found` returns a value.
    fn until(
        &mut self,
        what: &str,
        found: impl Fn(&Events) -> Option<Value>,
    ) -> Result<Value, String> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            if let Some(value) = found(self) {
                return Ok(value);
            }
            if Instant::now() > give_up {
                let last = &self.last_frame;
                return Err(format!("waited {PATIENCE:?} for {what}; last frame: {last}"));
            }
            self.next()?;
        }
    }

    /// Waits for a frame that `is_right` accepts.
    #[track_caller]
    fn frame(&mut self, is_right: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let asked_at = std::panic::Location::caller();
        self.next()?;
        self.until(&format!("the figures expected at {asked_at}"), |events| {
            Some(&events.last_frame).filter(|&frame| !frame.is_null() && is_right(frame)).cloned()
        })
    }

    /// Waits until the only action of this kind has ended.
    fn action(&mut self, kind: &str) -> Result<Value, String> {
        self.until(&format!("the end of `{kind}`"), |events| {
            let mut actions = events.actions.as_array()?.iter();
            actions.find(|action| action["kind"] == kind && !action["until"].is_null()).cloned()
        })
    }

    fn stall(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Value, String> {
        self.until("the stall to be listed", |events| {
            events.stalls.as_array()?.iter().find(|&stall| is_it(stall)).cloned()
        })
    }
}

/// An HTTP response, with the request that it answers.
struct Answer {
    asked: String,
    status: u16,
    body: String,
}

impl Answer {
    fn expect_status(self, status: u16) -> Result<String, String> {
        let Answer { asked, status: given, body } = self;
        ensure(given == status, &format!("{asked}: status {given}, not {status}: {body}"))?;
        Ok(body)
    }
}

fn ask(service: SocketAddr, method: &str, path: &str, headers: &str) -> Result<Answer, String> {
    let mut stream = send(service, method, path, headers)?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).map_err(no_answer)?;
    let head = Head::parse(&bytes).map_err(no_answer)?.ok_or("an answer has an incomplete head")?;
    let body = String::from_utf8_lossy(&bytes[head.length..]).into_owned();
    Ok(Answer { asked: format!("{method} {path}"), status: head.status, body })
}

/// Uses HTTP/1.0: the body ends with the connection and is not chunked.
fn send(service: SocketAddr, method: &str, path: &str, headers: &str) -> Result<TcpStream, String> {
    let mut stream = TcpStream::connect_timeout(&service, PATIENCE).map_err(no_answer)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(no_answer)?;
    write!(stream, "{method} {path} HTTP/1.0\r\nHost: {service}\r\n{headers}\r\n")
        .map_err(no_answer)?;
    Ok(stream)
}

fn no_answer(why: std::io::Error) -> String {
    format!("the service does not answer: {why}")
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn passed(what: &str) -> Result<(), String> {
    say(&format!("ok: {what}"));
    Ok(())
}
