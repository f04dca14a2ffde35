//! What was asked of the service by its buttons, when, and what came of it.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;

const KEPT: usize = 40;

/// The last deeds, oldest first.
#[derive(Default)]
pub struct Journal(Mutex<Deeds>);

#[derive(Default)]
struct Deeds {
    list: VecDeque<Deed>,
    next_number: u64,
    revision: u64,
}

struct Deed {
    number: u64,
    kind: Kind,
    count: usize,
    /// Since the service started, as is `until`.
    from: Duration,
    until: Option<Duration>,
    outcome: Value,
}

/// What a button does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Tasks that block their worker.
    Block,
    /// Tasks that compute without end.
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
    /// Something begins; the number is for [`end`](Journal::end). None if as many as are kept are under way.
    pub fn begin(&self, kind: Kind, count: usize, from: Duration) -> Option<u64> {
        let mut deeds = self.0.lock().expect("nobody panics in here");
        if deeds.list.len() == KEPT {
            let oldest_ended = deeds.list.iter().position(|deed| deed.until.is_some())?;
            deeds.list.remove(oldest_ended);
        }
        let number = deeds.next_number;
        deeds.next_number += 1;
        deeds.revision += 1;
        deeds.list.push_back(Deed { number, kind, count, from, until: None, outcome: Value::Null });
        Some(number)
    }

    /// It is done; `outcome` is what the page says of it.
    pub fn end(&self, number: u64, until: Duration, outcome: Value) {
        let mut deeds = self.0.lock().expect("nobody panics in here");
        let deed = deeds.list.iter_mut().find(|deed| deed.number == number);
        let deed = deed.expect("only what has ended is forgotten");
        (deed.until, deed.outcome) = (Some(until), outcome);
        deeds.revision += 1;
    }

    /// How many of this kind are under way.
    pub fn under_way(&self, kind: Kind) -> usize {
        let deeds = self.0.lock().expect("nobody panics in here");
        deeds.list.iter().filter(|deed| deed.kind == kind && deed.until.is_none()).count()
    }

    /// The list, if it has changed since it had `revision`, which is then brought up to date.
    pub fn changed_since(&self, revision: &mut u64) -> Option<Value> {
        let deeds = self.0.lock().expect("nobody panics in here");
        if *revision == deeds.revision {
            return None;
        }
        *revision = deeds.revision;
        Some(deeds.list.iter().map(Deed::to_json).collect())
    }
}

impl Deed {
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
    fn a_deed_is_under_way_until_it_ends() {
        let journal = Journal::default();
        let block = journal.begin(Kind::Block, 2, NOW).unwrap();
        assert_eq!((journal.under_way(Kind::Block), journal.under_way(Kind::Tasks)), (1, 0));
        journal.end(block, NOW * 2, json!({ "answered": 3 }));
        assert_eq!(journal.under_way(Kind::Block), 0);
        let list = journal.changed_since(&mut 0).unwrap();
        assert_eq!((&list[0]["kind"], &list[0]["until"]), (&json!("block"), &json!(10)));
        assert_eq!(list[0]["outcome"]["answered"], 3);
    }

    #[test]
    fn what_has_ended_makes_room_and_what_has_not_stays() {
        let journal = Journal::default();
        let first: Vec<u64> =
            (0..KEPT).map(|_| journal.begin(Kind::Tasks, 1, NOW).unwrap()).collect();
        assert_eq!(journal.begin(Kind::Block, 1, NOW), None);
        journal.end(first[3], NOW, Value::Null);
        assert!(journal.begin(Kind::Block, 1, NOW).is_some());
        assert_eq!(journal.under_way(Kind::Tasks), KEPT - 1);
        journal.end(first[0], NOW, Value::Null);
    }
}
