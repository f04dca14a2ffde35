//! Tasks: how they are spawned, and what is built on them.

mod blocking;
mod builder;
pub mod coop;
pub mod join_set;
mod local_set;
mod spawn;
mod task_local;
mod yield_now;

pub use blocking::{block_in_place, spawn_blocking, spawn_mandatory_blocking};
pub use builder::Builder;
pub use coop::{Unconstrained, consume_budget, unconstrained};
#[doc(inline)]
pub use join_set::JoinSet;
pub use local_set::{LocalEnterGuard, LocalSet, spawn_local};
pub use spawn::spawn;
pub use task_local::LocalKey;
pub use wakeful_task::{AbortHandle, Id, JoinError, JoinHandle, id, try_id};
pub use yield_now::yield_now;

/// Futures of this module's functions that have a name.
pub mod futures {
    pub use super::task_local::TaskLocalFuture;
}
