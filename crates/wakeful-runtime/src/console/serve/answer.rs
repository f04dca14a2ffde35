//! What each request is answered with.

use super::client::Answer;
use super::json::{Object, Value, Writer};
use super::{Process, graph, leaves, rows, summary};
use crate::census::{Ask, Dump, Names, Observer, Snapshot};
use crate::console::{Console, DUMP_GAP};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A request and what is needed to answer it.
pub(super) struct Query<'a> {
    request: Object<'a>,
    pub(super) json: Writer,
    pub(super) names: &'a mut Names,
    pub(super) console: &'a Console,
    observer: &'a mut Observer,
    pub(super) process: &'a Process,
    recent: &'a mut Option<RecentLook>,
}

/// A look at the process, which also answers requests that come soon after it.
pub(super) struct RecentLook {
    snapshot: Arc<Snapshot>,
    time_us: u64,
    until: Instant,
}

/// For how many times as long as a look took it is used. Sorting and filtering again then does not
/// take longer in a program with very many tasks, and most of the time is left to the program.
const RECENT_FOR: u32 = 4;

/// Adds the members of an answer, or says what is wrong with the request.
type Respond = fn(&mut Query<'_>) -> Result<(), String>;

const REQUESTS: [(&str, Respond); 9] = [
    ("summary", summary::summary),
    ("tasks", rows::tasks),
    ("groups", rows::groups),
    ("task", leaves::task),
    ("graph", graph::graph),
    ("objects", graph::list),
    ("stalls", summary::stalls),
    ("dump", dump),
    ("stacks", leaves::stacks),
];

/// Answers a line.
pub(super) fn answer(
    line: &[u8],
    names: &mut Names,
    console: &Console,
    observer: &mut Observer,
    process: &Process,
    recent: &mut Option<RecentLook>,
) -> Answer {
    let json = Writer::default();
    let request = match Object::parse(line) {
        Ok(request) => request,
        Err(error) => {
            let error =
                format!("the request is no JSON object of strings, numbers and booleans: {error}");
            return Answer { line: error_line(None, &error), stays_open: false };
        }
    };
    let id = request.raw("id");
    let mut query = Query { request, json, names, console, observer, process, recent };
    let line = match query.respond(id) {
        Ok(()) => {
            query.json.close('}');
            query.json.finish()
        }
        Err(error) => error_line(id, &error),
    };
    Answer { line, stays_open: true }
}

fn begin(id: Option<&str>) -> Writer {
    let mut json = Writer::default();
    json.open('{');
    if let Some(id) = id {
        json.name("id").raw(id);
    }
    json
}

fn error_line(id: Option<&str>, error: &str) -> String {
    let mut json = begin(id);
    json.text_member("error", error);
    json.close('}');
    json.finish()
}

impl Query<'_> {
    fn respond(&mut self, id: Option<&str>) -> Result<(), String> {
        let get = self.text("get")?.unwrap_or_default().to_owned();
        let Some((name, respond)) = REQUESTS.iter().find(|request| request.0 == get) else {
            let allowed = REQUESTS.iter().map(|request| request.0);
            return Err(not_allowed("get", &get, allowed));
        };
        self.json = begin(id);
        self.json.text_member("get", name);
        respond(self)
    }

    /// Returns a member that is a text.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, String> {
        match self.request.get(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(_) => Err(format!("{name} is not a string, as it has to be")),
        }
    }

    /// Returns a member that is true or false; without it, `default`.
    pub(super) fn flag(&self, name: &str, default: bool) -> Result<bool, String> {
        match self.request.get(name) {
            None => Ok(default),
            Some(Value::Bool(value)) => Ok(*value),
            Some(_) => Err(format!("{name} is neither true nor false, as it has to be")),
        }
    }

    /// Returns a member that is a number from 0 to `max`.
    pub(super) fn number(&self, name: &str, max: u64) -> Result<Option<u64>, String> {
        let number = match self.request.get(name) {
            None => return Ok(None),
            Some(Value::Number(number)) => number.parse().ok().filter(|number| *number <= max),
            Some(_) => None,
        };
        match number {
            Some(number) => Ok(Some(number)),
            None => Err(format!("{name} is not a whole number from 0 to {max}, as it has to be")),
        }
    }

    /// Looks at the process as it is, and writes when that was.
    pub(super) fn glance(&mut self) -> Arc<Snapshot> {
        let begun = Instant::now();
        let snapshot = Arc::new(self.observer.glance(&self.console.schedulers()));
        let time_us = self.process.now_us();
        self.json.number_member("time_us", time_us);
        let until = Instant::now() + begun.elapsed() * RECENT_FOR;
        *self.recent = Some(RecentLook { snapshot: snapshot.clone(), time_us, until });
        snapshot
    }

    /// The same, or what was seen a moment ago.
    pub(super) fn recent_glance(&mut self) -> Arc<Snapshot> {
        match &*self.recent {
            Some(recent) if Instant::now() < recent.until => {
                self.json.number_member("time_us", recent.time_us);
                recent.snapshot.clone()
            }
            _ => self.glance(),
        }
    }

    /// Looks at the process over some time, and writes when that was.
    pub(super) fn look(&mut self, gap: Duration, ask: Ask<'_>) -> Snapshot {
        let ask = if self.console.settings.asks { ask } else { Ask::None };
        let snapshot = self.observer.observe(&self.console.schedulers(), gap, ask);
        self.json.number_member("time_us", self.process.now_us());
        snapshot
    }

    /// The same, and finds what hangs.
    pub(super) fn look_for_hangs(&mut self, gap: Duration, ask: Ask<'_>) -> Dump {
        let snapshot = self.look(gap, ask);
        let dump = Dump::with_names(snapshot, std::mem::take(self.names));
        *self.names = dump.names().clone();
        dump
    }
}

/// Says that a member has a value that is none of those allowed.
pub(super) fn not_allowed<'a>(
    name: &str,
    value: &str,
    allowed: impl Iterator<Item = &'a str>,
) -> String {
    let allowed = allowed.collect::<Vec<_>>().join(", ");
    format!("{name} is {value:?}; it has to be one of {allowed}")
}

fn dump(query: &mut Query<'_>) -> Result<(), String> {
    let ask = if query.flag("ask", false)? { Ask::All } else { Ask::None };
    let text = query.look_for_hangs(DUMP_GAP, ask).to_text_with(query.names);
    query.json.text_member("text", &text);
    Ok(())
}
