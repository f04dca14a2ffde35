//! Tasks: how they are spawned, and what is built on them.

mod blocking;
pub mod coop;
mod local_set;
mod spawn;
mod yield_now;

pub use blocking::{block_in_place, spawn_blocking};
pub use coop::{consume_budget, unconstrained};
pub use local_set::{LocalEnterGuard, LocalSet, spawn_local};
pub use spawn::spawn;
pub use wakeful_task::{AbortHandle, Id, JoinError, JoinHandle, id, try_id};
pub use yield_now::yield_now;
