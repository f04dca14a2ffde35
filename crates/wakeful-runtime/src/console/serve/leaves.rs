//! Where tasks wait, as they say when they are asked.

use super::answer::Query;
use super::json::Writer;
use super::rows::{Clocks, is_object, number, put_row, wait_name};
use crate::census::{
    Actor, ActorState, Ask, Frame, Names, Resolved, Snapshot, kind_name, push_wait, resolve,
    root_of, sort_by_key,
};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;
use wakeful_base::waiting::{Leaf, WaitKind};

/// For how long a task has to be unchanged to be asked: long enough to see that it waits.
const ASK_GAP: Duration = Duration::from_millis(10);

/// The limit on tasks that `stacks` asks. Each costs a poll and a stack.
const STACKS_MAX: u64 = 10_000;

const STACKS_DEFAULT: u64 = 1_000;

/// Answers `task`.
pub(super) fn task(query: &mut Query<'_>) -> Result<(), String> {
    let Some(wanted) = query.number("task", u64::MAX)? else {
        return Err("task is missing; it has to be the id of a task".into());
    };
    let asks = query.flag("ask", false)?;
    let snapshot = match asks {
        true => Arc::new(query.look(ASK_GAP, Ask::These(&[wanted]))),
        false => query.recent_glance(),
    };
    let Some(actor) = snapshot.actors.iter().find(|actor| number(actor.id) == wanted) else {
        return Err(format!("there is no task {wanted}: it has ended, or never was"));
    };
    let clocks = Clocks::read(query.console, query.process.now_us());
    let json = &mut query.json;
    put_row(json.name("row"), actor, &clocks, query.names);
    let answer = actor.leaves.as_ref().filter(|_| asks);
    json.bool_member("asked", answer.is_some());
    if let Some(answer) = answer {
        let resolved = &*resolve();
        let root = root_of(&snapshot, resolved);
        json.name("leaves").open('[');
        for leaf in &answer.leaves {
            put_leaf(json, leaf, query.names);
            put_stack(json, leaf, resolved, root);
            json.close('}');
        }
        json.close(']');
    }
    Ok(())
}

fn put_leaf(json: &mut Writer, leaf: &Leaf, names: &mut Names) {
    let mut text = String::new();
    push_wait(&mut text, leaf.kind, leaf.detail, names);
    json.open('{').text_member("waits_for", &text);
    json.text_member("wait", wait_name(leaf.kind));
    if leaf.kind == WaitKind::Task {
        json.number_member("object", leaf.detail);
    } else if is_object(leaf.kind) {
        json.name("object").address(leaf.detail);
    }
    let known = &leaf.details;
    let mut details = String::new();
    for (name, value) in [
        ("available", known.available),
        ("limit", known.limit),
        ("wanted", known.wanted),
        ("waiting", known.waiting),
        ("senders", known.senders),
        ("receivers", known.receivers),
    ] {
        if let Some(value) = value {
            // Writing to a string does not fail.
            _ = write!(details, "{}{name} {value}", if details.is_empty() { "" } else { ", " });
        }
    }
    if !details.is_empty() {
        json.text_member("details", &details);
    }
}

fn put_stack(json: &mut Writer, leaf: &Leaf, resolved: &Resolved, root: &str) {
    json.name("stack").open('[');
    for frame in resolved.get(leaf.stack) {
        put_frame(json, frame, root);
    }
    json.close(']');
}

fn put_frame(json: &mut Writer, frame: &Frame, root: &str) {
    json.open('{').text_member("function", &frame.function);
    if let Some(location) = &frame.location {
        let location = location.strip_prefix(root).unwrap_or(location);
        let mut parts = location.rsplitn(3, ':');
        let (column, line) = (parts.next(), parts.next());
        json.text_member("file", parts.next().unwrap_or(location));
        for (name, part) in [("line", line), ("column", column)] {
            if let Some(number) = part.and_then(|part| part.parse().ok()) {
                json.number_member(name, number);
            }
        }
    }
    json.close('}');
}

/// Answers `stacks`.
pub(super) fn stacks(query: &mut Query<'_>) -> Result<(), String> {
    let limit = query.number("limit", STACKS_MAX)?.unwrap_or(STACKS_DEFAULT) as usize;
    if !query.console.settings.asks {
        return Err("stacks cannot be answered: WAKEFUL_CONSOLE contains nopoll".into());
    }
    let snapshot: Snapshot = query.look(ASK_GAP, Ask::Spread(limit));
    let waiting = snapshot.actors.iter().filter(|actor| actor.state == ActorState::Waiting);
    let asked: Vec<(&Actor, &Leaf)> = waiting
        .clone()
        .filter_map(|actor| Some((actor, actor.leaves.as_ref()?.leaves.first()?)))
        .collect();
    let resolved = &*resolve();
    let root = root_of(&snapshot, resolved);
    let json = &mut query.json;
    json.number_member("asked", asked.len() as u64);
    json.number_member("waiting", waiting.count() as u64);
    let mut rows = asked;
    let key = |leaf: &Leaf| (leaf.stack, leaf.kind);
    sort_by_key(&mut rows, |row| (key(row.1), row.0.id));
    json.name("rows").open('[');
    for rows in rows.chunk_by(|a, b| key(a.1) == key(b.1)) {
        let leaf = rows[0].1;
        json.open('{').number_member("tasks", rows.len() as u64);
        let unchanged: Duration = rows.iter().map(|row| row.0.unchanged_for).sum();
        json.number_member("unchanged_us", unchanged.as_micros() as u64);
        json.text_member("waits_for", kind_name(leaf.kind));
        put_stack(json, leaf, resolved, root);
        json.close('}');
    }
    json.close(']');
    Ok(())
}
