//! What each task of the process waits for, what hangs and why.
//!
//! ```text
//!   walk ──(pause)──▶ walk again ──▶ ask some of those that wait ──▶ Snapshot ──▶ verdicts ──▶ text
//! ```
//!
//! - `collect.rs`: walks over all tasks, twice, to see which of them stand still; wakes some of them
//!   for a poll that reports their leaves.
//! - `snapshot.rs`: the result, as plain data.

mod collect;
mod snapshot;
mod verdict;

pub(crate) use collect::{Ask, Observer};

/// A census as text. (Until merged.)
pub(crate) struct Dump(snapshot::Snapshot);
impl Dump {
    pub(crate) fn new(s: snapshot::Snapshot) -> Dump { Dump(s) }
    pub(crate) fn verdicts_text(&self) -> String {
        let f = verdict::find(&self.0);
        let mut t = String::new();
        for v in &f.verdicts { t += &format!("{} ({}): {}\n", v.kind.name(), v.grade.name(), v.text); }
        t += &format!("{} actors, {} user threads\n", self.0.actors.len(), self.0.user_threads);
        t
    }
    pub(crate) fn rest_text(&self) -> String {
        let mut s = String::new();
        for a in &self.0.actors { s += &format!("{a:?}\n"); }
        for a in &self.0.workers { s += &format!("{a:?}\n"); }
        s
    }
}
