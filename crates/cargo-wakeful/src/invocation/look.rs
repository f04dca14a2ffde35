//! The command lines of `ps`, `dump`, `console` and `profile`.

use std::path::PathBuf;
use std::time::Duration;

use super::{Request, Topic};

#[cfg(test)]
mod tests;

/// What is to be shown.
#[derive(Debug, PartialEq)]
pub enum Look {
    /// The programs that listen.
    List(Table),
    /// The tasks of a program.
    Tasks(Target, Table),
    Dump {
        target: Target,
        asks: bool,
    },
    Console(Target, Serve),
    Profile(Target, Record),
}

/// A program, as the user names it.
#[derive(Debug, PartialEq)]
pub enum Target {
    Pid(u32),
    Name(String),
}

impl Target {
    fn parse(word: String) -> Target {
        match word.parse() {
            Ok(pid) => Target::Pid(pid),
            Err(_) => Target::Name(word),
        }
    }
}

/// The options of `ps`.
#[derive(Debug, PartialEq)]
pub struct Table {
    pub sort: Option<&'static Sort>,
    pub is_reversed: bool,
    pub filter: Option<String>,
    pub state: Option<String>,
    pub groups: bool,
    /// How many rows are printed.
    pub limit: usize,
    pub prints_json: bool,
    pub watches: bool,
}

impl Default for Table {
    fn default() -> Table {
        Table {
            sort: None,
            is_reversed: false,
            filter: None,
            state: None,
            groups: false,
            limit: 100,
            prints_json: false,
            watches: false,
        }
    }
}

/// The options of `console`.
#[derive(Debug, Default, PartialEq)]
pub struct Serve {
    /// 0: any free port.
    pub port: u16,
    pub opens_no_browser: bool,
}

/// The options of `profile`.
#[derive(Debug, PartialEq)]
pub struct Record {
    /// How long to record.
    pub time: Duration,
    pub without_busy: bool,
    pub without_waiting: bool,
    /// `-`: to standard output.
    pub folded: Option<PathBuf>,
    pub pprof: Option<PathBuf>,
}

impl Default for Record {
    fn default() -> Record {
        let time = Duration::from_secs(10);
        Record { time, without_busy: false, without_waiting: false, folded: None, pprof: None }
    }
}

impl Record {
    pub fn prints_folded(&self) -> bool {
        self.folded.as_ref().is_some_and(|path| path.as_os_str() == "-")
    }
}

/// A column by which tasks are sorted.
#[derive(Debug, PartialEq)]
pub struct Sort {
    pub name: &'static str,
    /// The name of the member in a row.
    pub member: &'static str,
    /// The greatest first, unless `--reverse` is given.
    pub descends: bool,
}

const fn ascending(name: &'static str, member: &'static str) -> Sort {
    Sort { name, member, descends: false }
}

const fn descending(name: &'static str, member: &'static str) -> Sort {
    Sort { name, member, descends: true }
}

const SORTS: [Sort; 13] = [
    ascending("id", "id"),
    ascending("name", "name"),
    ascending("site", "site"),
    ascending("state", "state"),
    ascending("wait", "waits_for"),
    descending("since", "unchanged_us"),
    descending("age", "age_us"),
    descending("polls", "polls"),
    descending("busy", "busy_us"),
    descending("last", "last_poll_us"),
    descending("wakes", "wakes"),
    descending("self-wakes", "self_wakes"),
    descending("delay", "scheduled_max_us"),
];

const STATES: [&str; 3] = ["waiting", "queued", "running"];

/// Parses the arguments after `ps`, `dump`, `console` or `profile`.
pub fn parse(topic: Topic, words: Vec<String>) -> Result<Request, String> {
    let mut words = Words { topic, rest: words.into_iter(), joined: None };
    let (mut target, mut table, mut serve) = (None, Table::default(), Serve::default());
    let (mut record, mut asks) = (Record::default(), true);
    while let Some(word) = words.next() {
        match (topic, word.as_str()) {
            (_, "--help" | "-h") => return Ok(Request::Help(topic)),
            (Topic::Ps, "--sort" | "-s") => table.sort = Some(sort(&words.value(&word)?)?),
            (Topic::Ps, "--reverse" | "-r") => table.is_reversed = true,
            (Topic::Ps, "--filter" | "-f") => table.filter = Some(words.value(&word)?),
            (Topic::Ps, "--state") => table.state = Some(state(words.value(&word)?)?),
            (Topic::Ps, "--group" | "-g") => table.groups = true,
            (Topic::Ps, "--limit" | "-n") => table.limit = limit(&words.value(&word)?)?,
            (Topic::Ps, "--json") => table.prints_json = true,
            (Topic::Ps, "--watch" | "-w") => table.watches = true,
            (Topic::Dump, "--no-ask") => asks = false,
            (Topic::Console, "--port" | "-p") => serve.port = port(&words.value(&word)?)?,
            (Topic::Console, "--no-open") => serve.opens_no_browser = true,
            (Topic::Profile, "--for") => record.time = time(&words.value(&word)?)?,
            (Topic::Profile, "--busy") => record.without_waiting = true,
            (Topic::Profile, "--waiting") => record.without_busy = true,
            (Topic::Profile, "--folded") => record.folded = Some(words.value(&word)?.into()),
            (Topic::Profile, "--pprof") => record.pprof = Some(words.value(&word)?.into()),
            (_, option) if option.starts_with('-') => return Err(words.unknown(option)),
            _ if target.is_some() => return Err(words.unknown(&word)),
            _ => target = Some(Target::parse(word)),
        }
        words.no_value_left()?;
    }
    let look = match (topic, target) {
        (Topic::Ps, None) => list(table)?,
        (Topic::Ps, Some(target)) => Look::Tasks(target, table),
        (_, None) => {
            return Err(format!(
                "`cargo wakeful {}` needs a program: its process id, or its name if only one \
                 process has it.\n`cargo wakeful ps` lists the programs that listen",
                topic.name()
            ));
        }
        (Topic::Dump, Some(target)) => Look::Dump { target, asks },
        (Topic::Profile, Some(target)) => Look::Profile(target, both(record)),
        (_, Some(target)) => Look::Console(target, serve),
    };
    Ok(Request::Look(look))
}

/// Checks that no option is given that is about tasks.
fn list(table: Table) -> Result<Look, String> {
    let Table { prints_json, watches, .. } = table;
    if table == (Table { prints_json, watches, ..Table::default() }) {
        return Ok(Look::List(table));
    }
    Err("`cargo wakeful ps` without a process id lists programs, and takes no options but --json \
         and\n--watch. To list tasks, name a program: `cargo wakeful ps PID --sort busy`"
        .into())
}

/// The words of the command line; `--name=value` counts as two.
struct Words {
    topic: Topic,
    rest: std::vec::IntoIter<String>,
    /// The value that was joined to the last option.
    joined: Option<String>,
}

impl Words {
    fn next(&mut self) -> Option<String> {
        let word = self.rest.next()?;
        match word.split_once('=') {
            Some((name, value)) if name.starts_with("--") => {
                self.joined = Some(value.to_owned());
                Some(name.to_owned())
            }
            _ => Some(word),
        }
    }

    fn value(&mut self, option: &str) -> Result<String, String> {
        let value = self.joined.take().or_else(|| self.rest.next());
        value.ok_or_else(|| format!("`{option}` needs a value"))
    }

    fn no_value_left(&self) -> Result<(), String> {
        match &self.joined {
            Some(value) => Err(format!("`={value}` stands after an option that takes no value")),
            None => Ok(()),
        }
    }

    fn unknown(&self, word: &str) -> String {
        let name = self.topic.name();
        format!("`cargo wakeful {name}` does not know `{word}`; see `cargo wakeful {name} --help`")
    }
}

fn sort(name: &str) -> Result<&'static Sort, String> {
    SORTS.iter().find(|sort| sort.name == name).ok_or_else(|| {
        let names: Vec<&str> = SORTS.iter().map(|sort| sort.name).collect();
        format!("`--sort {name}`: there is no such column. The columns are: {}", names.join(", "))
    })
}

fn state(name: String) -> Result<String, String> {
    if STATES.contains(&name.as_str()) {
        return Ok(name);
    }
    Err(format!("`--state {name}`: there is no such state. The states are: {}", STATES.join(", ")))
}

fn limit(number: &str) -> Result<usize, String> {
    match number.parse() {
        Ok(0) | Err(_) if number != "all" => {
            Err(format!("`--limit {number}`: not a number of rows; `--limit all` prints every one"))
        }
        Ok(limit) => Ok(limit),
        Err(_) => Ok(usize::MAX),
    }
}

fn port(number: &str) -> Result<u16, String> {
    number.parse().map_err(|_| format!("`--port {number}`: not a number from 0 to 65535"))
}

/// With `--busy` and `--waiting`, both kinds of time are recorded, as with neither.
fn both(record: Record) -> Record {
    if record.without_busy && record.without_waiting {
        return Record { without_busy: false, without_waiting: false, ..record };
    }
    record
}

/// Parses a duration such as `10s`. A number without a unit is one of seconds.
fn time(text: &str) -> Result<Duration, String> {
    let (number, unit) =
        text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor_ms = match unit {
        "ms" => Some(1),
        "s" | "" => Some(1000),
        "min" | "m" => Some(60_000),
        _ => None,
    };
    let ms = number
        .parse()
        .ok()
        .zip(factor_ms)
        .and_then(|(n, factor): (u64, u64)| n.checked_mul(factor));
    match ms {
        Some(ms) if (1..=TIME_MAX_MS).contains(&ms) => Ok(Duration::from_millis(ms)),
        _ => {
            Err(format!("`--for {text}`: not a time of at most one day; write 10s, 500ms or 2min"))
        }
    }
}

/// The limit on the time to record.
const TIME_MAX_MS: u64 = 24 * 3600 * 1000;
