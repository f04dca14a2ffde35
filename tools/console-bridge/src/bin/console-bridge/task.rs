//! A row of the protocol as a task of console-api.

use console_api::tasks::task::Kind;
use console_api::tasks::{Stats, Task};
use console_api::{PollStats, field::Value as FieldValue};
use serde_json::Value;

use crate::program::Look;
use crate::wire::{Clock, Target, duration, id, location};

/// The limit on the length of the type of a future, in characters. Those of deeply nested futures
/// have thousands.
const TYPE_MAX: usize = 300;

/// For how long a task has to be without a waker to be reported so. The number of wakers and the
/// task's state are read one after the other, so a task that has just been polled may seem to wait
/// without any.
const WITHOUT_WAKER_MIN_US: u64 = 500_000;

/// Returns the id in a row.
pub fn id_of(row: &Value) -> Option<u64> {
    row["id"].as_u64()
}

/// Returns what stays the same about a task.
pub fn describe(row: &Value) -> Option<Task> {
    let (target, kind, kind_name) = match row["kind"].as_str()? {
        "blocking_job" => (Target::Blocking, Kind::Blocking, "blocking"),
        "thread" => (Target::BlockOn, Kind::Spawn, "block_on"),
        "local_task" => (Target::Task, Kind::Spawn, "local"),
        _ => (Target::Task, Kind::Spawn, "task"),
    };
    let text = |name: &str| row[name].as_str().map(str::to_owned);
    let mut fields = vec![
        target.field("kind", FieldValue::StrVal(kind_name.to_owned())),
        target.field("task.id", FieldValue::U64Val(id_of(row)?)),
    ];
    if let Some(name) = text("name") {
        fields.push(target.field("task.name", FieldValue::StrVal(name)));
    }
    if let Some(mut future) = text("type") {
        if let Some((end, _)) = future.char_indices().nth(TYPE_MAX) {
            future.truncate(end);
            future.push('…');
        }
        fields.push(target.field("future", FieldValue::DebugVal(future)));
    }
    if let Some(runtime) = row["runtime"].as_u64() {
        fields.push(target.field("runtime", FieldValue::U64Val(runtime)));
    }
    Some(Task {
        id: Some(id(id_of(row)?)),
        metadata: Some(target.id()),
        kind: kind as i32,
        fields,
        parents: Vec::new(),
        location: row["site"].as_str().and_then(location),
    })
}

/// Returns the figures of a task. `told` are those that the client has.
///
/// A client takes a task for running if its last poll has begun after the last one has ended, and
/// for scheduled if it was woken after the last poll began. The times are set so that this agrees
/// with the state in the row.
pub fn stats(row: &Value, look: &Look, clock: Clock, told: Option<&Stats>) -> Stats {
    let number = |name: &str| row[name].as_u64();
    let or_zero = |name: &str| number(name).unwrap_or_default();
    let state = row["state"].as_str().unwrap_or_default();
    let is_running = state == "running";
    let created_us = match number("age_us") {
        Some(age) => look.time_us.saturating_sub(age),
        None => look.recorded_since_us,
    };
    let is_job = row["kind"] == "blocking_job";
    let polls = number("polls").unwrap_or(u64::from(is_job && is_running));
    let begun_us = number("last_poll_at_us").or(is_running.then_some(created_us));
    let ended_us = begun_us.filter(|_| !is_running).map(|begun| begun + or_zero("last_poll_us"));
    let woken_us = match state {
        // Later than the poll, also if both are of the same microsecond.
        "queued" => Some(begun_us.map_or(look.time_us, |begun| look.time_us.max(begun + 1))),
        // The time is not kept; it was this one or before.
        _ => begun_us.filter(|_| or_zero("wakes") > 0),
    };
    let wakers = match number("wakers") {
        Some(0) if state != "waiting" || or_zero("unchanged_us") < WITHOUT_WAKER_MIN_US => 1,
        // Not known: a client would take zero for a lost waker.
        None => 1,
        Some(wakers) => wakers,
    };
    let mut stats = Stats {
        created_at: Some(clock.at(created_us)),
        dropped_at: None,
        wakes: or_zero("wakes"),
        waker_clones: wakers,
        waker_drops: 0,
        last_wake: woken_us.map(|at| clock.at(at)),
        poll_stats: Some(PollStats {
            polls,
            first_poll: None,
            last_poll_started: begun_us.map(|at| clock.at(at)),
            last_poll_ended: ended_us.map(|at| clock.at(at)),
            busy_time: Some(duration(or_zero("busy_us"))),
        }),
        self_wakes: or_zero("self_wakes"),
        scheduled_time: Some(duration(or_zero("scheduled_us"))),
    };
    if let Some(told) = told.filter(|told| is_same(told, &stats)) {
        // Each look computes these times anew, a little differently.
        stats.last_wake = told.last_wake;
        stats.poll_stats = told.poll_stats;
    }
    stats
}

/// Returns whether nothing has happened to the task since the client was told of it.
fn is_same(told: &Stats, now: &Stats) -> bool {
    let (Some(old), Some(new)) = (&told.poll_stats, &now.poll_stats) else { return false };
    let is_running = |polls: &PollStats| polls.last_poll_ended.is_none();
    let is_queued = |stats: &Stats, polls: &PollStats| {
        stats.last_wake.map(key) > polls.last_poll_started.map(key)
    };
    (old.polls, told.wakes, is_running(old), is_queued(told, old))
        == (new.polls, now.wakes, is_running(new), is_queued(now, new))
        && old.busy_time == new.busy_time
}

/// Returns a time in an order.
fn key(time: prost_types::Timestamp) -> (i64, i32) {
    (time.seconds, time.nanos)
}

#[cfg(test)]
#[path = "task/tests.rs"]
mod tests;
