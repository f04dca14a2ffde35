//! The last stalls, with their final durations.
//!
//! The runtime reports a stall while it lasts. A hook records the end of each long poll, which
//! gives the final duration. Either may come first, because stalls are reported on a separate
//! thread.

use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::time::Duration;
use wakeful::runtime::{Stall, StallOutcome};

/// How many stalls are kept: more than the page shows. On a busy machine many short stalls may come
/// while a long one lasts.
const KEPT: usize = 40;
/// This many of the newest are always kept.
const NEWEST: usize = 8;

/// The last stalls, newest first.
#[derive(Default)]
pub struct StallLog(Mutex<Entries>);

#[derive(Default)]
struct Entries {
    stalls: VecDeque<Entry>,
    /// The task and duration of long polls that have ended, but were not reported yet.
    ended: VecDeque<(u64, Duration)>,
    revision: u64,
}

/// One stall.
#[derive(Debug, Default)]
pub struct Entry {
    /// The time since the start of the service.
    pub at: Duration,
    pub task: Option<u64>,
    pub spawned_at: String,
    pub worker: Option<usize>,
    /// What the report says of the thread.
    pub thread: String,
    pub outcome: &'static str,
    /// The duration so far; final if `is_over`.
    pub lasted: Duration,
    pub is_over: bool,
}

impl Entry {
    pub fn new(at: Duration, stall: &Stall) -> Entry {
        Entry {
            at,
            task: stall.task_id().and_then(|id| id.to_string().parse().ok()),
            spawned_at: stall.spawned_at().map(|at| shortened(&at.to_string())).unwrap_or_default(),
            worker: stall.worker(),
            thread: stall.thread().unwrap_or_default().to_owned(),
            outcome: match stall.outcome() {
                StallOutcome::HandedOff => "handed-off",
                StallOutcome::NothingWaits => "nothing-waits",
                StallOutcome::NoThread => "no-thread",
                _ => "waits",
            },
            lasted: stall.duration(),
            is_over: false,
        }
    }

    fn to_json(&self) -> Value {
        json!({
            "at": self.at.as_millis() as u64,
            "task": self.task,
            "site": self.spawned_at,
            "worker": self.worker,
            "thread": self.thread,
            "outcome": self.outcome,
            "ms": self.lasted.as_micros() as f64 / 1e3,
            "over": self.is_over,
        })
    }
}

/// Shortens a path to begin at the crate's folder, without the place where cargo keeps its crates.
fn shortened(place: &str) -> String {
    let inside = place.strip_prefix('/').and_then(|path| path.rsplit_once("/src/"));
    let Some((folder, file)) = inside else { return place.to_owned() };
    let krate = folder.rsplit('/').next().unwrap_or(folder);
    format!("{krate}/src/{file}")
}

impl StallLog {
    /// Records a stall that the runtime reports.
    pub fn reported(&self, mut entry: Entry) {
        let mut entries = self.0.lock().expect("no thread panics while it holds this lock");
        let ended = entries.ended.iter().position(|&(task, _)| Some(task) == entry.task);
        if let Some((_, lasted)) = ended.and_then(|at| entries.ended.remove(at)) {
            (entry.lasted, entry.is_over) = (lasted, true);
        }
        entries.stalls.push_front(entry);
        entries.make_room();
        entries.revision += 1;
    }

    /// Records that a poll of `task` which was long enough for a stall has ended.
    pub fn ended(&self, task: u64, lasted: Duration) {
        let mut entries = self.0.lock().expect("no thread panics while it holds this lock");
        let is_it = |entry: &&mut Entry| entry.task == Some(task) && !entry.is_over;
        if let Some(entry) = entries.stalls.iter_mut().find(is_it) {
            (entry.lasted, entry.is_over) = (lasted, true);
            entries.revision += 1;
        } else {
            entries.ended.push_front((task, lasted));
            entries.ended.truncate(KEPT);
        }
    }

    /// Returns the list if it has changed since `revision`, and updates `revision`.
    pub fn changed_since(&self, revision: &mut u64) -> Option<Value> {
        let entries = self.0.lock().expect("no thread panics while it holds this lock");
        if *revision == entries.revision {
            return None;
        }
        *revision = entries.revision;
        Some(entries.stalls.iter().map(Entry::to_json).collect())
    }
}

impl Entries {
    /// Removes the shortest stall that has ended and is not among the newest.
    fn make_room(&mut self) {
        if self.stalls.len() > KEPT {
            let old =
                self.stalls.iter().enumerate().skip(NEWEST).filter(|(_, entry)| entry.is_over);
            let shortest = old.min_by_key(|(_, entry)| entry.lasted).map(|(at, _)| at);
            self.stalls.remove(shortest.unwrap_or(KEPT));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: Duration = Duration::from_millis(2);
    const ALL: Duration = Duration::from_millis(50);

    fn stall_of(task: u64) -> Entry {
        Entry { task: Some(task), lasted: TOLD, ..Entry::default() }
    }

    fn listed(log: &StallLog) -> Vec<(u64, f64, bool)> {
        let list = log.changed_since(&mut 0).unwrap();
        let entry =
            |e: &Value| Some((e["task"].as_u64()?, e["ms"].as_f64()?, e["over"].as_bool()?));
        list.as_array().unwrap().iter().map(|e| entry(e).unwrap()).collect()
    }

    #[test]
    fn a_stall_lasts_until_its_poll_ends() {
        let log = StallLog::default();
        log.reported(stall_of(7));
        log.reported(stall_of(8));
        assert_eq!(listed(&log), [(8, 2.0, false), (7, 2.0, false)]);
        log.ended(7, ALL);
        assert_eq!(listed(&log), [(8, 2.0, false), (7, 50.0, true)]);
    }

    #[test]
    fn a_poll_may_end_before_its_stall_is_reported() {
        let log = StallLog::default();
        log.ended(7, ALL);
        log.reported(stall_of(7));
        log.reported(stall_of(7));
        assert_eq!(listed(&log), [(7, 2.0, false), (7, 50.0, true)]);
    }

    #[test]
    fn places_are_shortened_to_the_crate() {
        assert_eq!(shortened("demo/src/actions.rs:7:5"), "demo/src/actions.rs:7:5");
        let foreign = "/somebody/registry/src/host-0f/axum-0.8.9/src/serve/mod.rs:363:9";
        assert_eq!(shortened(foreign), "axum-0.8.9/src/serve/mod.rs:363:9");
    }

    #[test]
    fn only_the_newest_are_kept() {
        let log = StallLog::default();
        (0..100).for_each(|task| log.reported(stall_of(task)));
        let tasks: Vec<u64> = listed(&log).iter().map(|entry| entry.0).collect();
        assert_eq!(tasks, (100 - KEPT as u64..100).rev().collect::<Vec<_>>());
    }

    #[test]
    fn long_ones_outlive_short_ones() {
        let log = StallLog::default();
        log.reported(stall_of(1));
        log.reported(stall_of(2));
        log.ended(2, ALL);
        for task in 100..200 {
            log.reported(stall_of(task));
            log.ended(task, TOLD);
        }
        let listed = listed(&log);
        assert_eq!(listed.len(), KEPT);
        assert_eq!(listed[KEPT - 2..], [(2, 50.0, true), (1, 2.0, false)]);
        assert!((0..NEWEST).all(|at| listed[at].0 == 199 - at as u64), "{listed:?}");
    }

    #[test]
    fn an_unchanged_list_is_not_returned_again() {
        let (log, mut revision) = (StallLog::default(), 0);
        assert_eq!(log.changed_since(&mut revision), None);
        log.reported(stall_of(1));
        assert!(log.changed_since(&mut revision).is_some());
        assert_eq!(log.changed_since(&mut revision), None);
    }
}
