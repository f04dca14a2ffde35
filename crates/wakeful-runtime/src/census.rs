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

pub(crate) use collect::{Ask, Observer};

/// A census as text. (Until merged.)
pub(crate) struct Dump(snapshot::Snapshot);
impl Dump {
    pub(crate) fn new(s: snapshot::Snapshot) -> Dump {
        Dump(s)
    }
    pub(crate) fn verdicts_text(&self) -> String {
        format!("{:#?}\n", self.0)
    }
    pub(crate) fn rest_text(&self) -> String {
        let mut s = String::new();
        for (k, b) in wakeful_base::waiting::Stack::take_captured() {
            s += &format!("{k:?}\n{b}\n");
        }
        s
    }
}
