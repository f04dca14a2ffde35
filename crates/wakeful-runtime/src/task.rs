//! Tasks: futures that a runtime runs independently of each other.
//!
//! A task is to a runtime what a thread is to an operating system, but much cheaper. Tasks share
//! the runtime's threads, and a task leaves its thread to others whenever it waits at an `.await`.
//!
//! ```
//! use std::time::Duration;
//! use wakeful::{task, time};
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! // A task runs concurrently with the code that spawned it.
//! let double = task::spawn(async { 21 * 2 });
//! assert_eq!(double.await.unwrap(), 42);
//!
//! // If a task panics, its handle returns an error.
//! let broken = task::spawn(async { panic!("on purpose") });
//! assert!(broken.await.unwrap_err().is_panic());
//!
//! // A task can be aborted at any `.await` where it waits.
//! let endless = task::spawn(time::sleep(Duration::from_secs(3600)));
//! endless.abort();
//! assert!(endless.await.unwrap_err().is_cancelled());
//!
//! // Code that blocks, or computes for long, runs on a thread of the blocking pool.
//! let sum = task::spawn_blocking(|| (1..=1000_u64).sum::<u64>());
//! assert_eq!(sum.await.unwrap(), 500_500);
//! # });
//! ```
//!
//! | to run | use |
//! |---|---|
//! | a future | [`spawn`] |
//! | a future that is not `Send` | [`spawn_local`], in a [`LocalSet`] or [`LocalRuntime`] |
//! | code that blocks or computes for long | [`spawn_blocking`] |
//! | the same, with borrowed data | [`block_in_place`] |
//! | many futures, to collect their outputs | [`JoinSet`] |
//!
//! [`LocalRuntime`]: crate::runtime::LocalRuntime
//!
//! [`task_local!`](crate::task_local) declares values that belong to a task. [`coop`] explains how
//! tasks that never wait are made to yield.

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

/// Named futures returned by functions of this module.
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
