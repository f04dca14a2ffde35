//! The actions that the page's buttons started: when, and with which result.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

const KEPT: usize = 40;

/// The last actions, oldest first.
#[derive(Default)]
pub struct Journal(Mutex<Actions>);

#[derive(Default)]
struct Actions {
    list: VecDeque<Action>,
    next_number: u64,
    revision: u64,
}

struct Action {
    number: u64,
    kind: Kind,
    count: usize,
    /// Since the start of the service, as for `until`.
    from: Duration,
    until: Option<Duration>,
    outcome: Value,
}

/// The kind of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Tasks that block their worker.
    Block,
    /// A task that computes without yielding.
    Compute,
    /// Many tasks.
    Tasks,
    /// Many timers.
    Timers,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Block => "block",
            Kind::Compute => "compute",
            Kind::Tasks => "tasks",
            Kind::Timers => "timers",
        }
    }
}

impl Journal {
    /// Records that an action begins. Returns its number, for [`end`](Journal::end), or `None` if
    /// as many actions as the journal holds are in progress.
    pub fn begin(&self, kind: Kind, count: usize, from: Duration) -> Option<u64> {
        let mut actions = self.0.lock().expect("no thread panics while it holds this lock");
        if actions.list.len() == KEPT {
            let oldest_ended = actions.list.iter().position(|action| action.until.is_some())?;
            actions.list.remove(oldest_ended);
        }
        let number = actions.next_number;
        actions.next_number += 1;
        actions.revision += 1;
        actions.list.push_back(Action {
            number,
            kind,
            count,
            from,
            until: None,
            outcome: Value::Null,
        });
        Some(number)
    }

    /// Records that an action has ended. The page shows `outcome`.
    pub fn end(&self, number: u64, until: Duration, outcome: Value) {
        let mut actions = self.0.lock().expect("no thread panics while it holds this lock");
        let action = actions.list.iter_mut().find(|action| action.number == number);
        let action = action.expect("only actions that have ended are removed");
        (action.until, action.outcome) = (Some(until), outcome);
        actions.revision += 1;
    }

    /// Returns how many actions of this kind are in progress.
    pub fn in_progress(&self, kind: Kind) -> usize {
        let actions = self.0.lock().expect("no thread panics while it holds this lock");
        actions.list.iter().filter(|action| action.kind == kind && action.until.is_none()).count()
    }

    /// Returns the list if it has changed since `revision`, and updates `revision`.
    pub fn changed_since(&self, revision: &mut u64) -> Option<Value> {
        let actions = self.0.lock().expect("no thread panics while it holds this lock");
        if *revision == actions.revision {
            return None;
        }
        *revision = actions.revision;
        Some(actions.list.iter().map(Action::to_json).collect())
    }
}

impl Action {
    fn to_json(&self) -> Value {
        json!({
            "number": self.number,
            "kind": self.kind.name(),
            "count": self.count,
            "from": self.from.as_millis() as u64,
            "until": self.until.map(|until| until.as_millis() as u64),
            "outcome": self.outcome,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_millis(5);

    #[test]
    fn an_action_is_in_progress_until_it_ends() {
        let journal = Journal::default();
        let block = journal.begin(Kind::Block, 2, NOW).unwrap();
        assert_eq!((journal.in_progress(Kind::Block), journal.in_progress(Kind::Tasks)), (1, 0));
        journal.end(block, NOW * 2, json!({ "answered": 3 }));
        assert_eq!(journal.in_progress(Kind::Block), 0);
        let list = journal.changed_since(&mut 0).unwrap();
        assert_eq!((&list[0]["kind"], &list[0]["until"]), (&json!("block"), &json!(10)));
        assert_eq!(list[0]["outcome"]["answered"], 3);
    }

    #[test]
    fn only_actions_that_have_ended_are_removed() {
        let journal = Journal::default();
        let first: Vec<u64> =
            (0..KEPT).map(|_| journal.begin(Kind::Tasks, 1, NOW).unwrap()).collect();
        assert_eq!(journal.begin(Kind::Block, 1, NOW), None);
        journal.end(first[3], NOW, Value::Null);
        assert!(journal.begin(Kind::Block, 1, NOW).is_some());
        assert_eq!(journal.in_progress(Kind::Tasks), KEPT - 1);
        journal.end(first[0], NOW, Value::Null);
    }
}
