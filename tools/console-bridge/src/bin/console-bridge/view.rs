//! What one client sees: each look at the program becomes updates for it.

use std::collections::{HashMap, VecDeque};

use console_api::async_ops::{self, AsyncOp, AsyncOpUpdate};
use console_api::instrument::Update;
use console_api::resources::{self, Resource, ResourceUpdate};
use console_api::tasks::{self, Task, TaskUpdate};
use prost::Message;
use prost_types::Timestamp;

use crate::objects::{self, Operations};
use crate::program::Look;
use crate::sent::Sent;
use crate::task;
use crate::wire::{Clock, metadata};

/// The limit on the size of an update, in bytes. A client accepts 4 MiB.
const UPDATE_MAX: usize = 3 << 20;

/// What the keys of figures and the lengths of all parts may take, in bytes.
const FRAME: usize = 32;

/// What a client has been told.
pub struct View {
    clock: Clock,
    tasks: Sent<tasks::Stats>,
    resources: Sent<resources::Stats>,
    operations: Sent<async_ops::Stats>,
    waits: Operations,
    has_metadata: bool,
}

/// What is new of one kind of things.
struct Changes<N, S> {
    /// The new ones, with their figures.
    new: VecDeque<(N, u64, S)>,
    /// Figures of the others.
    stats: VecDeque<(u64, S)>,
}

impl<N, S> Default for Changes<N, S> {
    fn default() -> Changes<N, S> {
        Changes { new: VecDeque::new(), stats: VecDeque::new() }
    }
}

impl<N: Message, S: Message> Changes<N, S> {
    /// Removes as much as fits into `space` bytes, and takes that from `space`.
    fn take(&mut self, space: &mut usize) -> (Vec<N>, HashMap<u64, S>) {
        let (mut new, mut stats) = (Vec::new(), HashMap::new());
        while *space > 0 {
            if let Some((thing, id, figures)) = self.new.pop_front() {
                *space = space.saturating_sub(thing.encoded_len() + figures.encoded_len() + FRAME);
                new.push(thing);
                stats.insert(id, figures);
            } else if let Some((id, figures)) = self.stats.pop_front() {
                *space = space.saturating_sub(figures.encoded_len() + FRAME);
                stats.insert(id, figures);
            } else {
                break;
            }
        }
        (new, stats)
    }

    fn is_empty(&self) -> bool {
        self.new.is_empty() && self.stats.is_empty()
    }
}

impl View {
    /// Creates the view of a client that knows nothing.
    pub fn new(clock: Clock) -> View {
        View {
            clock,
            tasks: Sent::default(),
            resources: Sent::default(),
            operations: Sent::default(),
            waits: Operations::default(),
            has_metadata: false,
        }
    }

    /// Returns what the client does not know yet: one update, or more if that is much.
    pub fn updates(&mut self, look: &Look) -> Vec<Update> {
        let now = self.clock.at(look.time_us);
        let mut tasks = self.task_changes(look, now);
        let mut resources = self.resource_changes(look, now);
        let mut operations = self.operation_changes(look, now);
        let mut updates = Vec::new();
        while updates.is_empty()
            || !(tasks.is_empty() && resources.is_empty() && operations.is_empty())
        {
            let mut space = UPDATE_MAX;
            let (new_tasks, task_stats) = tasks.take(&mut space);
            let (new_resources, resource_stats) = resources.take(&mut space);
            let (new_async_ops, operation_stats) = operations.take(&mut space);
            updates.push(Update {
                now: Some(now),
                task_update: Some(TaskUpdate {
                    new_tasks,
                    stats_update: task_stats,
                    dropped_events: 0,
                }),
                resource_update: Some(ResourceUpdate {
                    new_resources,
                    stats_update: resource_stats,
                    new_poll_ops: Vec::new(),
                    dropped_events: 0,
                }),
                async_op_update: Some(AsyncOpUpdate {
                    new_async_ops,
                    stats_update: operation_stats,
                    dropped_events: 0,
                }),
                new_metadata: (!self.has_metadata).then(metadata),
            });
            self.has_metadata = true;
        }
        updates
    }

    fn task_changes(&mut self, look: &Look, now: Timestamp) -> Changes<Task, tasks::Stats> {
        let mut changes = Changes::default();
        self.tasks.begin();
        for row in &look.tasks {
            let Some(id) = task::id_of(row) else { continue };
            let told = self.tasks.get(id);
            let new = if told.is_none() { task::describe(row) } else { None };
            let stats = task::stats(row, look, self.clock, told);
            let Some(stats) = self.tasks.note(id, stats) else { continue };
            match new {
                Some(new) => changes.new.push_back((new, id, stats)),
                None => changes.stats.push_back((id, stats)),
            }
        }
        changes.stats.extend(self.tasks.end(look.is_of_one_moment, now));
        changes
    }

    fn resource_changes(
        &mut self,
        look: &Look,
        now: Timestamp,
    ) -> Changes<Resource, resources::Stats> {
        let mut changes = Changes::default();
        self.resources.begin();
        for row in &look.objects {
            let Some(id) = objects::number_of(&row["object"]) else { continue };
            let new = if self.resources.get(id).is_none() { objects::describe(row) } else { None };
            let stats = objects::stats(row, look, self.clock);
            let Some(stats) = self.resources.note(id, stats) else { continue };
            match new {
                Some(new) => changes.new.push_back((new, id, stats)),
                None => changes.stats.push_back((id, stats)),
            }
        }
        changes.stats.extend(self.resources.end(true, now));
        changes
    }

    fn operation_changes(
        &mut self,
        look: &Look,
        now: Timestamp,
    ) -> Changes<AsyncOp, async_ops::Stats> {
        let mut changes = Changes::default();
        self.operations.begin();
        let is_known = |object| self.resources.get(object).is_some();
        for operation in self.waits.of(look, self.clock, is_known) {
            let id = operation.op.id.unwrap_or_default().id;
            let is_new = self.operations.get(id).is_none();
            let Some(stats) = self.operations.note(id, operation.stats) else { continue };
            match is_new {
                true => changes.new.push_back((operation.op, id, stats)),
                false => changes.stats.push_back((id, stats)),
            }
        }
        changes.stats.extend(self.operations.end(true, now));
        changes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use std::time::SystemTime;

    fn look(time_us: u64, tasks: impl IntoIterator<Item = Value>) -> Look {
        let tasks = tasks.into_iter().collect();
        let objects = Vec::new();
        Look { time_us, recorded_since_us: 0, tasks, is_of_one_moment: true, objects }
    }

    fn waiting(id: u64) -> Value {
        json!({ "id": id, "kind": "task", "site": "src/a.rs:1:2", "state": "waiting", "polls": 1,
            "wakers": 1 })
    }

    fn view() -> View {
        View::new(Clock { epoch: SystemTime::UNIX_EPOCH })
    }

    #[test]
    fn many_tasks_are_told_in_updates_that_a_client_accepts() {
        let mut row = waiting(0);
        row["type"] = json!("x".repeat(1_000));
        let rows = (1..=20_000).map(|id| {
            let mut row = row.clone();
            row["id"] = json!(id);
            row
        });
        let updates = view().updates(&look(1_000, rows));
        let of = |update: &Update| update.task_update.clone().unwrap();
        let counts = updates.iter().map(|update| of(update).new_tasks.len());
        assert_eq!(counts.sum::<usize>(), 20_000);
        assert!((2..10).contains(&updates.len()), "{}", updates.len());
        for update in &updates {
            assert!(update.encoded_len() < 4 << 20, "{}", update.encoded_len());
            // A client ignores new tasks without figures.
            let tasks = of(update);
            for task in &tasks.new_tasks {
                assert!(tasks.stats_update.contains_key(&task.id.unwrap().id));
            }
        }
        let with_metadata = updates.iter().filter(|update| update.new_metadata.is_some());
        assert_eq!(with_metadata.count(), 1);
    }

    #[test]
    fn a_look_without_changes_is_an_empty_update() {
        let mut view = view();
        view.updates(&look(1_000, [waiting(1)]));
        let updates = view.updates(&look(2_000, [waiting(1)]));
        assert_eq!(updates.len(), 1);
        let tasks = updates[0].task_update.clone().unwrap();
        assert!(tasks.new_tasks.is_empty() && tasks.stats_update.is_empty(), "{tasks:?}");
        let updates = view.updates(&look(3_000, []));
        let tasks = updates[0].task_update.clone().unwrap();
        assert!(tasks.stats_update[&1].dropped_at.is_some());
    }
}
