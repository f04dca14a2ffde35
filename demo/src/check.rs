//! `--check`: drives the service from outside, without a browser, and says what it saw.
//!
//! The client is plain `std`: nothing of what is checked helps to check it.

use crate::actions::{HELD_FOR, MANY, TICKERS};
use crate::arguments::Handoff;
use crate::response::Head;
use crate::running::Running;
use crate::say;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// For anything to happen. Far more than it takes, for machines that have other things to do.
const PATIENCE: Duration = Duration::from_secs(30);
/// Where requests would be if they had to wait for the block: half of it, and most of them above.
const LATENCY_MAX: Duration = HELD_FOR.checked_div(2).expect("two is not zero");
/// Fewer say nothing.
const ANSWERED_MIN: u64 = 100;

/// Checks it all; the error says what is wrong. It is wrong if workers that are blocked hold up requests, which
/// they do without `handoff`.
pub fn run(handoff: Handoff) -> Result<(), String> {
    let running = Running::start([0], handoff).map_err(|why| format!("it did not start: {why}"))?;
    let service = running.address;
    files(service)?;
    strangers(service)?;
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
    ensure(page.contains("<title>Wakeful"), "the page has no title")?;
    ensure(files.len() >= 2, "the page names no files")?;
    for file in &files {
        ask(service, "GET", file, "")?.expect_status(200)?;
    }
    passed(&format!("the page is there, and what it loads: {}", files.join(" ")))
}

fn strangers(service: SocketAddr) -> Result<(), String> {
    ask(service, "POST", "/block/all", "Origin: http://other.example\r\n")?.expect_status(403)?;
    ask(service, "POST", "/load/1000000", "")?.expect_status(400)?;
    ask(service, "GET", "/nothing", "")?.expect_status(404)?;
    passed("what other sites' pages send is turned away")
}

fn figures_move(events: &mut Events) -> Result<(), String> {
    let first = events.frame(|frame| frame["polls"].as_f64() > Some(0.0))?;
    let second = events.frame(|frame| {
        frame["at"].as_u64() > first["at"].as_u64() && frame["ticks"]["rate"].as_f64() > Some(0.0)
    })?;
    let workers = second["workers"].as_array().map_or(0, Vec::len);
    ensure(workers > 0, "no worker is shown")?;
    passed(&format!("the figures move; {workers} workers, {} tasks", second["tasks"]))
}

fn load(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/load/64", "")?.expect_status(204)?;
    let frame = events.frame(|frame| frame["requests"]["rate"].as_f64() > Some(0.0))?;
    ensure(frame["failed"] == 0, "requests failed")?;
    let requests = &frame["requests"];
    passed(&format!("clients: {} requests/s, half within {} ms", requests["rate"], requests["p50"]))
}

fn block(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    let before = events.frame(|_| true)?;
    ask(service, "POST", "/block/all", "")?.expect_status(204)?;
    let deed = events.deed("block")?;
    let outcome = &deed["outcome"];
    let answered = outcome["answered"].as_u64().unwrap_or(0);
    let slow = Duration::from_secs_f64(outcome["p99"].as_f64().unwrap_or(1e6) / 1e3);
    let text = format!("{answered} requests answered, 99 % within {slow:?}");
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
    let outcome = events.deed("compute")?["outcome"].take();
    passed(&format!("while a task computed: {} requests answered", outcome["answered"]))
}

fn tasks(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/tasks", "")?.expect_status(204)?;
    events.frame(|frame| frame["tasks"].as_u64() >= Some(MANY as u64))?;
    let outcome = events.deed("tasks")?["outcome"].take();
    passed(&format!(
        "{MANY} tasks: spawned in {} ms, ended in {} ms",
        outcome["spawned"], outcome["ended"]
    ))
}

fn timers(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/timers", "")?.expect_status(204)?;
    events.frame(|frame| frame["timers"].as_u64() > Some(TICKERS as u64))?;
    let outcome = events.deed("timers")?["outcome"].take();
    events.frame(|frame| frame["timers"] == TICKERS)?;
    passed(&format!(
        "{MANY} timers: armed in {} ms, 99 % at most {} ms late",
        outcome["armed"], outcome["p99"]
    ))
}

fn no_load(service: SocketAddr, events: &mut Events) -> Result<(), String> {
    ask(service, "POST", "/load/0", "")?.expect_status(204)?;
    events.frame(|frame| frame["requests"]["rate"] == 0.0)?;
    passed("clients stop when told to")
}

/// The end must not wait for a page that is open, nor for a worker that is blocked.
fn end(running: Running, mut events: Events) -> Result<(), String> {
    ask(running.address, "POST", "/block/all", "")?.expect_status(204)?;
    let begin = Instant::now();
    let summary = running.stop();
    let took = begin.elapsed();
    ensure(!summary.contains("cut off"), &summary)?;
    let rest = std::iter::from_fn(|| events.next().ok());
    ensure(rest.take(10_000).count() < 10_000, "the stream of events goes on after the end")?;
    passed(&format!("{summary}; the end took {took:.0?}"))
}

/// The stream that the page reads.
struct Events {
    lines: BufReader<TcpStream>,
    deeds: Value,
    stalls: Value,
    last_frame: Value,
}

impl Events {
    fn open(service: SocketAddr) -> Result<Events, String> {
        let mut stream = send(service, "GET", "/events", "")?;
        let mut head = Vec::new();
        while Head::parse(&head).map_err(told)?.is_none() {
            let mut byte = [0];
            stream.read_exact(&mut byte).map_err(told)?;
            head.extend(byte);
        }
        let nothing = || Value::Null;
        let lines = BufReader::new(stream);
        Ok(Events { lines, deeds: nothing(), stalls: nothing(), last_frame: nothing() })
    }

    /// Reads an event and keeps what it says.
    fn next(&mut self) -> Result<(), String> {
        let mut line = || {
            let mut line = String::new();
            match self.lines.read_line(&mut line).map_err(told)? {
                0 => Err("the stream of events has ended".to_owned()),
                _ => Ok(line),
            }
        };
        let (name, data) = (line()?, line()?);
        line()?;
        let data = data.strip_prefix("data: ").ok_or_else(|| format!("not an event: {data}"))?;
        let data = serde_json::from_str(data).map_err(|why| format!("{why}: {data}"))?;
        match name.trim_end() {
            "event: frame" => self.last_frame = data,
            "event: deeds" => self.deeds = data,
            "event: stalls" => self.stalls = data,
            other => return Err(format!("an event that no page knows: {other}")),
        }
        Ok(())
    }

    /// Reads on until `found` has something to return.
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
                return Err(format!("waited {PATIENCE:?} for {what}; the last frame was {last}"));
            }
            self.next()?;
        }
    }

    /// A frame that is yet to come and is as it should be.
    #[track_caller]
    fn frame(&mut self, is_right: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let asked_at = std::panic::Location::caller();
        self.next()?;
        self.until(&format!("the figures that {asked_at} asks for"), |events| {
            Some(&events.last_frame).filter(|&frame| !frame.is_null() && is_right(frame)).cloned()
        })
    }

    /// The one deed of this kind, once it is done.
    fn deed(&mut self, kind: &str) -> Result<Value, String> {
        self.until(&format!("the end of `{kind}`"), |events| {
            let mut deeds = events.deeds.as_array()?.iter();
            deeds.find(|deed| deed["kind"] == kind && !deed["until"].is_null()).cloned()
        })
    }

    fn stall(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Value, String> {
        self.until("the stall to be listed", |events| {
            events.stalls.as_array()?.iter().find(|&stall| is_it(stall)).cloned()
        })
    }
}

/// An answer: what was asked for, the status, the body.
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
    stream.read_to_end(&mut bytes).map_err(told)?;
    let head = Head::parse(&bytes).map_err(told)?.ok_or("an answer has no end")?;
    let body = String::from_utf8_lossy(&bytes[head.length..]).into_owned();
    Ok(Answer { asked: format!("{method} {path}"), status: head.status, body })
}

/// With HTTP/1.0: the body ends with the connection, and is not in chunks.
fn send(service: SocketAddr, method: &str, path: &str, headers: &str) -> Result<TcpStream, String> {
    let mut stream = TcpStream::connect_timeout(&service, PATIENCE).map_err(told)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
    write!(stream, "{method} {path} HTTP/1.0\r\nHost: {service}\r\n{headers}\r\n").map_err(told)?;
    Ok(stream)
}

fn told(why: std::io::Error) -> String {
    format!("the service does not answer: {why}")
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}

fn passed(what: &str) -> Result<(), String> {
    say(&format!("ok: {what}"));
    Ok(())
}
