//! Locks and channels as resources of console-api, and what tasks wait for as async operations.

use std::collections::HashMap;

use console_api::async_ops::{self, AsyncOp};
use console_api::field::Value as FieldValue;
use console_api::resources::{self, Resource, resource};
use console_api::{Attribute, PollStats};
use prost_types::Timestamp;
use serde_json::Value;

use crate::program::Look;
use crate::task;
use crate::wire::{Clock, Target, duration, id};

/// By how much a time that is computed from an age may differ from look to look.
const ROUNDING_US: u64 = 1_000;

/// Returns the number of an object.
pub fn number_of(object: &Value) -> Option<u64> {
    u64::from_str_radix(object.as_str()?, 16).ok()
}

/// Returns what stays the same about a lock or a channel.
pub fn describe(row: &Value) -> Option<Resource> {
    let kind = row["kind"].as_str()?.to_owned();
    Some(Resource {
        id: Some(id(number_of(&row["object"])?)),
        metadata: Some(Target::Object.id()),
        concrete_type: row["label"].as_str()?.to_owned(),
        kind: Some(resource::Kind { kind: Some(resource::kind::Kind::Other(kind)) }),
        ..Resource::default()
    })
}

/// Returns the figures of a lock or a channel. When it was created is not known: since when it is
/// listed.
pub fn stats(row: &Value, look: &Look, clock: Clock) -> resources::Stats {
    let mut attributes = Vec::new();
    let waiting = row["waiting_total"].as_u64().unwrap_or_default();
    attributes.push(Target::Object.attribute("waiting", FieldValue::U64Val(waiting), None));
    if waiting > 0 {
        let longest_s = row["wait_max_us"].as_u64().unwrap_or_default() / 1_000_000;
        let value = FieldValue::U64Val(longest_s);
        attributes.push(Target::Object.attribute("longest", value, Some("s")));
    }
    attributes.extend(actors("held_by", &row["holders"]));
    attributes.extend(actors("used_by", &row["users"]));
    resources::Stats { created_at: Some(clock.at(look.time_us)), dropped_at: None, attributes }
}

/// Returns a list of tasks as an attribute.
fn actors(name: &str, ids: &Value) -> Option<Attribute> {
    let ids: Vec<String> = ids.as_array()?.iter().map(|id| id.to_string()).collect();
    let value = FieldValue::DebugVal(ids.join(","));
    (!ids.is_empty()).then(|| Target::Object.attribute(name, value, None))
}

/// The operations that tasks are waiting for.
#[derive(Debug, Default)]
pub struct Operations {
    ids: HashMap<Wait, u64>,
    next: u64,
    /// When the last look was.
    looked_us: u64,
}

/// A task that waits for an object in some way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Wait {
    task: u64,
    object: u64,
    kind: String,
}

/// A task's wait for an object that the client knows.
pub struct Operation {
    /// What stays the same.
    pub op: AsyncOp,
    /// Its figures. Neither its polls nor their times are known.
    pub stats: async_ops::Stats,
}

impl Operations {
    /// Returns what the tasks wait for, of those objects for which `is_known` returns true.
    pub fn of(
        &mut self,
        look: &Look,
        clock: Clock,
        is_known: impl Fn(u64) -> bool,
    ) -> Vec<Operation> {
        let before = std::mem::take(&mut self.ids);
        let mut operations = Vec::new();
        for row in &look.tasks {
            let (Some(task), Some(object)) = (task::id_of(row), number_of(&row["object"])) else {
                continue;
            };
            if row["state"] != "waiting" || !is_known(object) {
                continue;
            }
            let wait = Wait { task, object, kind: row["wait"].to_string() };
            let since_us = since_us(row, look);
            // If it has changed since the last look, the task waits for the same thing again.
            let same = before.get(&wait).filter(|_| since_us <= self.looked_us + ROUNDING_US);
            let number = same.copied().unwrap_or_else(|| {
                self.next += 1;
                self.next
            });
            let created_at = clock.at(since_us);
            operations.push(operation(number, &wait, row, created_at));
            self.ids.insert(wait, number);
        }
        self.looked_us = look.time_us;
        operations
    }
}

/// Returns since when a task is known to wait.
fn since_us(row: &Value, look: &Look) -> u64 {
    look.time_us.saturating_sub(row["unchanged_us"].as_u64().unwrap_or_default())
}

fn operation(number: u64, wait: &Wait, row: &Value, created_at: Timestamp) -> Operation {
    let op = AsyncOp {
        id: Some(id(number)),
        metadata: Some(Target::Wait.id()),
        source: row["waits_for"].as_str().unwrap_or_default().to_owned(),
        parent_async_op_id: None,
        resource_id: Some(id(wait.object)),
    };
    let stats = async_ops::Stats {
        created_at: Some(created_at),
        dropped_at: None,
        task_id: Some(id(wait.task)),
        poll_stats: Some(PollStats { busy_time: Some(duration(0)), ..PollStats::default() }),
        attributes: Vec::new(),
    };
    Operation { op, stats }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::time::SystemTime;

    fn look(tasks: Vec<Value>) -> Look {
        let objects = Vec::new();
        Look { time_us: 9_000_000, recorded_since_us: 0, tasks, is_of_one_moment: true, objects }
    }

    fn clock() -> Clock {
        Clock { epoch: SystemTime::UNIX_EPOCH }
    }

    #[test]
    fn a_lock_has_its_queue_and_its_holder() {
        let row = json!({ "object": "7f03", "kind": "mutex", "label": "mutex 1",
            "waiting": [1, 9], "holders": [2], "users": [], "waiting_total": 2, "wait_max_us": 2_500_000 });
        let resource = describe(&row).unwrap();
        assert_eq!((resource.id, resource.concrete_type), (Some(id(0x7f03)), "mutex 1".to_owned()));
        let stats = stats(&row, &look(Vec::new()), clock());
        let texts = stats
            .attributes
            .iter()
            .map(|attribute| format!("{}{}", attribute.field.as_ref().unwrap(), attribute.unit()));
        assert_eq!(texts.collect::<Vec<_>>(), ["waiting=2", "longest=2s", "held_by=2"]);
    }

    #[test]
    fn an_operation_keeps_its_id_while_nothing_changes() {
        let waits = |task: u64, unchanged_us: u64| {
            json!({ "id": task, "state": "waiting", "object": "7f03", "wait": "mutex",
                "waits_for": "mutex 1", "unchanged_us": unchanged_us })
        };
        let mut operations = Operations::default();
        let mut ids = |time_us: u64, rows: Vec<Value>| -> Vec<u64> {
            let look = Look { time_us, ..look(rows) };
            let found = operations.of(&look, clock(), |object| object == 0x7f03);
            found.iter().map(|operation| operation.op.id.unwrap().id).collect()
        };
        assert_eq!(ids(1_000_000, vec![waits(4, 0), waits(5, 0)]), [1, 2]);
        assert_eq!(ids(2_000_000, vec![waits(4, 999_999), waits(5, 1_000_000)]), [1, 2]);
        assert_eq!(ids(3_000_000, vec![waits(5, 2_000_000)]), [2]);
        assert_eq!(ids(4_000_000, vec![waits(4, 0), waits(5, 3_000_000)]), [3, 2]);
        assert_eq!(ids(5_000_000, vec![waits(4, 20_000), waits(5, 4_000_000)]), [4, 2]);
    }
}
