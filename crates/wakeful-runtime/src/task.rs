//! Tasks: how they are spawned, and what is built on them.
//!
//! ```
//! use std::time::Duration;
//! use wakeful::{task, time};
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! // A task runs by itself, beside whoever spawned it.
//! let double = task::spawn(async { 21 * 2 });
//! assert_eq!(double.await.unwrap(), 42);
//!
//! // Its panic is no more than an error to those who join it.
//! let broken = task::spawn(async { panic!("on purpose") });
//! assert!(broken.await.unwrap_err().is_panic());
//!
//! // It can be stopped wherever it waits.
//! let endless = task::spawn(time::sleep(Duration::from_secs(3600)));
//! endless.abort();
//! assert!(endless.await.unwrap_err().is_cancelled());
//!
//! // What blocks, or computes for long, has threads of its own.
//! let sum = task::spawn_blocking(|| (1..=1000_u64).sum::<u64>());
//! assert_eq!(sum.await.unwrap(), 500_500);
//! # });
//! ```
//!
//! [`JoinSet`] keeps many tasks together, [`LocalSet`] those that are not `Send`;
//! [`task_local!`](crate::task_local) makes values that belong to a task.

mod blocking;
mod builder;
pub mod coop;
pub mod join_set;
mod local_set;
mod spawn;
mod task_local;
mod yield_now;

pub use blocking::{
    block_in_place, spawn_blocking, spawn_blocking_or_run, spawn_mandatory_blocking,
    try_spawn_blocking,
};
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
///
/// ```
/// use wakeful::task::futures::TaskLocalFuture;
///
/// wakeful::task_local! {
///     static TENANT: u32;
/// }
///
/// /// The future can be named, and so be returned or kept in a field.
/// fn for_tenant<F: Future>(tenant: u32, work: F) -> TaskLocalFuture<u32, F> {
///     TENANT.scope(tenant, work)
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// assert_eq!(for_tenant(7, async { TENANT.get() }).await, 7);
/// # });
/// ```
pub mod futures {
    pub use super::task_local::TaskLocalFuture;
}
