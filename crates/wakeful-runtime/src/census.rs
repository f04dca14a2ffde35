//! What each task of the process waits for, what hangs and why.
//!
//! ```text
//!   walk ──(gap)──▶ walk again ──▶ ask some of those that wait ──▶ Snapshot ──▶ verdicts ──▶ text
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `collect.rs` | reaches all tasks, sees which stand still, asks them for their leaves |
//! | `snapshot.rs` | the result, as plain data |
//! | `verdict.rs` | finds deadlocks and other reasons why actors cannot go on |
//! | `hang.rs` | a verdict as the user of the runtime sees it |

mod collect;
mod hang;
mod snapshot;
mod verdict;

pub(crate) use collect::{Ask, Observer};
pub use hang::Hang;

/// A snapshot and its verdicts.
pub(crate) struct Dump {
    snapshot: snapshot::Snapshot,
    hangs: Vec<Hang>,
}

impl Dump {
    pub(crate) fn new(snapshot: snapshot::Snapshot) -> Dump {
        let findings = verdict::find(&snapshot);
        Dump { snapshot, hangs: findings.verdicts.into_iter().map(Hang::new).collect() }
    }

    pub(crate) fn hangs(&self) -> &[Hang] {
        &self.hangs
    }

    pub(crate) fn write(&self, out: &mut dyn FnMut(&str)) {
        for hang in &self.hangs {
            out(&format!("{hang}\n"));
        }
        for a in &self.snapshot.actors {
            out(&format!("{a:?}\n"));
        }
        for a in &self.snapshot.workers {
            out(&format!("{a:?}\n"));
        }
        out(&format!(
            "{} actors, {} user threads\n",
            self.snapshot.actors.len(),
            self.snapshot.user_threads
        ));
    }
}
