//! What each task of the process waits for, what hangs and why.
//!
//! ```text
//!   walk ──(gap)──▶ walk again ──▶ ask some of those that wait ──▶ Snapshot ──▶ verdicts ──▶ text
//! ```
//!
//! | file | contents |
//! |---|---|
//! | `collect.rs` | looks at all actors twice, to see which are not polled |
//! | `walk.rs` | reaches all tasks |
//! | `ask.rs` | asks actors for their leaves |
//! | `snapshot.rs` | the result, as plain data |
//! | `sort.rs` | sorts with little code |
//! | `write.rs` | appends to texts with little code |
//! | `verdict.rs` | finds deadlocks and other reasons why actors cannot go on |
//! | `text.rs` | a dump: the verdicts, what all actors wait for, and where |
//! | `frames.rs` | reads the user's own frames out of backtraces |
//! | `hang.rs` | a verdict as the user of the runtime sees it |

mod ask;
mod collect;
mod frames;
mod hang;
mod snapshot;
mod sort;
mod text;
mod verdict;
mod walk;
mod write;

pub(crate) use collect::{Ask, Observer};
pub(crate) use frames::{Frame, Resolved, resolve};
#[cfg(feature = "taskdump")]
pub(crate) use frames::{Frames, is_root};
pub use hang::Hang;
pub(crate) use snapshot::{
    Actor, ActorKind, ActorState, Flavor, RuntimeState, Snapshot, TaskFigures, WorkerState,
};
pub(crate) use sort::{sort, sort_by_key};
pub(crate) use text::{Dump, kind_name, root_of};
pub(crate) use verdict::{Names, noun, push_actor, push_wait};

#[cfg(all(test, not(any(wakeful_loom, miri))))]
mod tests;
