//! `cargo wakeful ps`: tables of programs and of tasks.

use std::fmt::Write;
use std::fs;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use super::client::Client;
use super::table::{Column, Kind, Table, fit, wrap};
use super::units::{count, duration, plural};
use super::{connect, sockets, terminal};
use crate::invocation::look::{Table as Options, Target};
use crate::output::{print_note, print_text};

/// The greatest number of rows in an answer.
const PAGE: usize = 500;

const WATCH_INTERVAL: Duration = Duration::from_secs(1);

const fn column(title: &'static str, kind: Kind, rank: u8) -> Column {
    Column { title, kind, rank }
}

const PROGRAMS: [Column; 8] = [
    column("PID", Kind::Number, 0),
    column("UP", Kind::Number, 0),
    column("TASKS", Kind::Number, 0),
    column("QUEUED", Kind::Number, 2),
    column("WORKERS", Kind::Number, 3),
    column("STALLS", Kind::Number, 1),
    column("RUNTIMES", Kind::Number, 4),
    column("PROGRAM", Kind::Path, 0),
];

const TASKS: [Column; 12] = [
    column("ID", Kind::Number, 0),
    column("KIND", Kind::Text, 4),
    column("NAME", Kind::Long, 1),
    column("SPAWNED AT", Kind::Path, 0),
    column("STATE", Kind::Text, 0),
    column("WAITS FOR", Kind::Long, 0),
    column("SINCE", Kind::Number, 0),
    column("POLLS", Kind::Number, 3),
    column("BUSY", Kind::Number, 2),
    column("LAST", Kind::Number, 6),
    column("WAKES", Kind::Number, 7),
    column("DELAY", Kind::Number, 8),
];

const GROUPS: [Column; 7] = [
    column("TASKS", Kind::Number, 0),
    column("SPAWNED AT", Kind::Path, 0),
    column("STATE", Kind::Text, 0),
    column("WAITS FOR", Kind::Long, 0),
    column("LONGEST", Kind::Number, 1),
    column("POLLS", Kind::Number, 3),
    column("BUSY", Kind::Number, 2),
];

/// Prints the programs that listen.
pub fn list(options: &Options) -> Result<(), String> {
    repeat(options.watches, |size| {
        let (mut programs, mut refused) = (Vec::new(), Vec::new());
        for socket in sockets::list() {
            let asked = Client::connect(&socket).and_then(|mut client| {
                let summary = client.ask(json!({ "get": "summary" }))?;
                Ok((client, summary))
            });
            match asked {
                Ok(program) => programs.push(program),
                // The socket of a program that has ended is removed, and says nothing.
                Err(_) if !socket.path.exists() => {}
                Err(why) => refused.push(why),
            }
        }
        if size.is_none() || !options.watches {
            refused.iter().for_each(print_note);
        }
        if options.prints_json {
            return Ok(as_json(&programs));
        }
        if programs.is_empty() {
            return Ok("No program of this user listens. Start one with a variable: \
                       `WAKEFUL_CONSOLE=1 ./program`\n"
                .into());
        }
        let mut table = Table::new(&PROGRAMS);
        programs.iter().for_each(|(client, summary)| table.add(program_row(client, summary)));
        Ok(lines(&table.lines(size.map(|size| size.columns)), usize::MAX))
    })
}

/// Prints the tasks of a program, or groups of them.
pub fn tasks(target: &Target, options: &Options) -> Result<(), String> {
    let mut client = connect(target)?;
    repeat(options.watches, |size| {
        let summary = client.ask(json!({ "get": "summary" }))?;
        let graph = client.ask(json!({ "get": "graph" }))?;
        let verdicts = graph["verdicts"].as_array().map_or(&[][..], Vec::as_slice);
        let fetched = if options.groups {
            groups(&mut client, options)?
        } else {
            rows(&mut client, options)?
        };
        if options.prints_json {
            let rows = json!({
                "program": client.greeting, "summary": summary, "verdicts": verdicts,
                "total": fetched.total, "matching": fetched.matching, "rows": fetched.rows,
            });
            return Ok(format!("{rows}\n"));
        }
        let width = size.map(|size| size.columns);
        let mut text = head(&client, &summary, verdicts, width);
        let columns = if options.groups { &GROUPS[..] } else { &TASKS[..] };
        let mut table = Table::new(columns);
        let cells = if options.groups { group_row } else { task_row };
        fetched.rows.iter().for_each(|row| table.add(cells(row)));
        let foot = foot(&fetched, options);
        let taken = text.lines().count() + foot.lines().count() + 1;
        let room = match size {
            Some(size) if options.watches => size.lines.saturating_sub(taken),
            _ => usize::MAX,
        };
        text += &lines(&table.lines(width), room);
        text += &foot;
        Ok(text)
    })
}

/// Prints what `make` returns: once, or every second until the user stops it.
fn repeat(
    watches: bool,
    mut make: impl FnMut(Option<terminal::Size>) -> Result<String, String>,
) -> Result<(), String> {
    loop {
        let size = terminal::size();
        let text = make(size)?;
        let text = if watches && size.is_some() { terminal::over_the_screen(&text) } else { text };
        let is_read = print_text(&text);
        if !watches || !is_read {
            return Ok(());
        }
        thread::sleep(WATCH_INTERVAL);
    }
}

/// Rows of an answer.
struct Fetched {
    rows: Vec<Value>,
    matching: u64,
    total: u64,
}

fn rows(client: &mut Client, options: &Options) -> Result<Fetched, String> {
    let mut fetched = Fetched { rows: Vec::new(), matching: 0, total: 0 };
    loop {
        let left = options.limit - fetched.rows.len();
        let mut request = json!({
            "get": "tasks", "offset": fetched.rows.len(), "limit": left.min(PAGE),
        });
        if let Some(sort) = options.sort {
            request["sort"] = sort.member.into();
            request["descending"] = (sort.descends != options.is_reversed).into();
        } else if options.is_reversed {
            request["sort"] = "id".into();
            request["descending"] = true.into();
        }
        for (name, value) in [("filter", &options.filter), ("state", &options.state)] {
            if let Some(value) = value {
                request[name] = value.as_str().into();
            }
        }
        let mut answer = client.ask(request)?;
        (fetched.matching, fetched.total) = (number(&answer, "matching"), number(&answer, "total"));
        let page = answer["rows"].as_array_mut().map(std::mem::take).unwrap_or_default();
        let is_last = page.len() < PAGE;
        fetched.rows.extend(page);
        if is_last || fetched.rows.len() >= options.limit {
            return Ok(fetched);
        }
    }
}

/// Asks for groups, which the program sorts by size. Filters and other orders are made here.
fn groups(client: &mut Client, options: &Options) -> Result<Fetched, String> {
    let mut answer = client.ask(json!({ "get": "groups" }))?;
    let mut rows = answer["rows"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let total = rows.len() as u64;
    rows.retain(|row| {
        let contains = |filter: &String| {
            let members = ["site", "type", "wait", "waits_for"];
            members.iter().any(|member| text(row, member).contains(filter.as_str()))
        };
        options.state.as_ref().is_none_or(|state| text(row, "state") == state)
            && options.filter.as_ref().is_none_or(contains)
    });
    if let Some(sort) = options.sort {
        let member = if sort.name == "since" { "unchanged_max_us" } else { sort.member };
        if rows.iter().all(|row| row[member].is_null()) && !rows.is_empty() {
            return Err(format!(
                "`--sort {}` does not work with --group: groups have no such column",
                sort.name
            ));
        }
        rows.sort_by(|a, b| {
            let text_order = text(a, member).cmp(text(b, member));
            let order = number(a, member).cmp(&number(b, member)).then(text_order);
            if sort.descends { order.reverse() } else { order }
        });
    }
    if options.is_reversed {
        rows.reverse();
    }
    let matching = rows.len() as u64;
    rows.truncate(options.limit);
    Ok(Fetched { rows, matching, total })
}

/// Returns the lines above the table: the program, and what hangs.
fn head(client: &Client, summary: &Value, verdicts: &[Value], width: Option<usize>) -> String {
    let states = &summary["tasks"];
    let runtimes = summary["runtimes"].as_array().map_or(0, Vec::len);
    let up = up(client).map(|us| format!(", up {}", duration(us))).unwrap_or_default();
    let line = format!(
        "Process {}, {}{up}: {} waiting, {} queued, {} running; {}, {}",
        client.pid,
        client.program,
        count(number(states, "waiting")),
        count(number(states, "queued")),
        count(number(states, "running")),
        plural(runtimes as u64, "runtime"),
        plural(sum(summary, "stalls"), "stall"),
    );
    let mut text = fit(&line, width) + "\n";
    if !verdicts.is_empty() {
        let _ = writeln!(text, "\nWhat hangs (more with `cargo wakeful dump {}`):", client.pid);
        for (index, verdict) in verdicts.iter().enumerate() {
            let sure = if verdict["certain"] == true { "certain" } else { "likely" };
            let (name, said) = (self::text(verdict, "name"), self::text(verdict, "text"));
            // The program's sentence begins with the name, as in a dump.
            let said = said.strip_prefix(&format!("{name} ({sure}): ")).unwrap_or(said);
            let line = format!("{}. {name} ({sure}): {said}", index + 1);
            wrap(&line, width).iter().for_each(|line| text += &format!("  {line}\n"));
        }
    }
    if summary["incomplete"] == true {
        text += "\nSome workers did not answer in time: tasks are missing.\n";
    }
    text + "\n"
}

/// Returns the line below a table that does not have all rows.
fn foot(fetched: &Fetched, options: &Options) -> String {
    let what = if options.groups { "groups" } else { "tasks" };
    let shown = fetched.rows.len() as u64;
    if fetched.matching == 0 && fetched.total > 0 {
        format!("None of the {} {what} matches.\n", fetched.total)
    } else if shown < fetched.matching {
        format!("\n{shown} of {} {what}; `--limit all` prints every one\n", fetched.matching)
    } else {
        String::new()
    }
}

fn program_row(client: &Client, summary: &Value) -> Vec<String> {
    let runtimes = summary["runtimes"].as_array().map_or(&[][..], Vec::as_slice);
    let workers = runtimes.iter().filter_map(|runtime| runtime["workers"].as_array());
    let states = &summary["tasks"];
    let tasks = ["waiting", "queued", "running"].iter().map(|state| number(states, state)).sum();
    vec![
        client.pid.to_string(),
        up(client).map(duration).unwrap_or_default(),
        count(tasks),
        count(number(states, "queued")),
        workers.map(Vec::len).sum::<usize>().to_string(),
        count(sum(summary, "stalls")),
        runtimes.len().to_string(),
        client.program.clone(),
    ]
}

fn task_row(row: &Value) -> Vec<String> {
    let kind = match text(row, "kind") {
        "local_task" => "local",
        "blocking_job" => "blocking",
        "thread" => "thread",
        _ => "",
    };
    vec![
        if kind == "thread" { String::new() } else { some(row, "id", |id| id.to_string()) },
        kind.into(),
        text(row, "name").into(),
        text(row, "site").into(),
        text(row, "state").into(),
        text(row, "waits_for").into(),
        some(row, "unchanged_us", duration),
        some(row, "polls", count),
        some(row, "busy_us", duration),
        some(row, "last_poll_us", duration),
        some(row, "wakes", count),
        some(row, "scheduled_max_us", duration),
    ]
}

fn group_row(row: &Value) -> Vec<String> {
    vec![
        some(row, "tasks", count),
        text(row, "site").into(),
        text(row, "state").into(),
        text(row, "waits_for").into(),
        some(row, "unchanged_max_us", duration),
        some(row, "polls", count),
        some(row, "busy_us", duration),
    ]
}

fn as_json(programs: &[(Client, Value)]) -> String {
    let programs: Vec<Value> = programs
        .iter()
        .map(|(client, summary)| json!({ "program": client.greeting, "summary": summary }))
        .collect();
    format!("{}\n", json!({ "programs": programs }))
}

fn lines(lines: &[String], room: usize) -> String {
    lines.iter().take(room).map(|line| format!("{line}\n")).collect()
}

/// Returns for how long the process has run, in microseconds.
fn up(client: &Client) -> Option<u64> {
    let text = fs::read_to_string("/proc/uptime").ok()?;
    let now: f64 = text.split_whitespace().next()?.parse().ok()?;
    // SAFETY: `sysconf` accesses no memory of this process.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    Some(((now - client.start as f64 / ticks).max(0.0) * 1e6) as u64)
}

/// Returns the sum of a member over all runtimes.
fn sum(summary: &Value, member: &str) -> u64 {
    let runtimes = summary["runtimes"].as_array().map_or(&[][..], Vec::as_slice);
    runtimes.iter().map(|runtime| number(runtime, member)).sum()
}

fn number(value: &Value, member: &str) -> u64 {
    value[member].as_u64().unwrap_or(0)
}

/// Formats a member that may be missing.
fn some(row: &Value, member: &str, format: impl Fn(u64) -> String) -> String {
    row[member].as_u64().map(format).unwrap_or_default()
}

fn text<'a>(row: &'a Value, member: &str) -> &'a str {
    row[member].as_str().unwrap_or_default()
}
