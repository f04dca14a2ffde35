//! Channels, locks and notifications for asynchronous code.
//!
//! All types work with any executor: a future that has to wait stores its task's waker and is woken
//! when its condition is met. Waiting does not allocate, since a waiter's list node lies inside the
//! waiting future, and waiters are served in the order in which they came.
//!
//! | to | there is |
//! |---|---|
//! | send values from many tasks to one | [`mpsc`] |
//! | send one value, such as the answer to a request | [`oneshot`] |
//! | send every value to every receiver | [`broadcast`] |
//! | share the latest value and report changes | [`watch`] |
//! | protect a value: one user at a time, or many readers | [`Mutex`], [`RwLock`] |
//! | limit how many operations run at a time | [`Semaphore`] |
//! | wake tasks, without a value | [`Notify`] |
//! | let tasks start together | [`Barrier`] |
//! | create a value when it is first needed, or wait until it is set | [`OnceCell`], [`SetOnce`] |
//!
//! # Example
//!
//! A task that owns its state and answers requests, with an [`mpsc`] channel for the requests and a
//! [`oneshot`] channel for each answer:
//!
//! ```
//! use wakeful::sync::{mpsc, oneshot};
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let (requests, mut inbox) = mpsc::channel::<(u64, oneshot::Sender<u64>)>(16);
//! wakeful::spawn(async move {
//!     let mut total = 0;
//!     while let Some((amount, answer)) = inbox.recv().await {
//!         total += amount;
//!         let _ = answer.send(total); // fails if the requester no longer waits
//!     }
//! });
//!
//! for (amount, expected) in [(3, 3), (4, 7)] {
//!     let (answer, total) = oneshot::channel();
//!     requests.send((amount, answer)).await.unwrap();
//!     assert_eq!(total.await, Ok(expected));
//! }
//! # });
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

// Which file to open:
//
// Two protocols carry nearly everything here; both have loom models.
//
// - `wait_queue.rs`: tasks that wait for an event. Used by `notify.rs`, `set_once.rs`, `watch/`
//   and `broadcast/`. `once_cell.rs` and `barrier.rs` use a [`Notify`].
// - `permit_queue.rs`: tasks that wait for permits, and `acquire.rs`: the future that does. Used
//   by `batch_semaphore.rs`, on which `semaphore.rs`, `mutex.rs` and `rwlock.rs` are built, and by
//   bounded `mpsc` channels, which count their free capacity in permits.
//
// `mpsc/` has its own queue of values, `oneshot/` its own state machine.

mod acquire;
mod acquire_error;
mod backoff;
mod barrier;
mod batch_semaphore;
mod blocking;
pub mod broadcast;
mod cooperative;
mod holder;
pub mod mpsc;
mod mutex;
mod notify;
mod once_cell;
pub mod oneshot;
mod permit_queue;
mod rwlock;
mod semaphore;
mod set_once;
mod show_as_value;
mod wait_queue;
pub mod watch;

pub use acquire_error::{AcquireError, TryAcquireError};
pub use barrier::{Barrier, BarrierWaitResult};
pub use mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError,
};
pub use notify::Notify;
pub use once_cell::{OnceCell, SetError};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
pub use set_once::{SetOnce, SetOnceError};

/// Named future types, for structs that store such a future.
///
/// ```
/// use std::sync::Arc;
/// use wakeful::sync::{Notify, futures::OwnedNotified};
///
/// /// A place in the queue, to be awaited later.
/// struct Ticket(OwnedNotified);
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let doors = Arc::new(Notify::new());
/// let ticket = Ticket(doors.clone().notified_owned());
/// doors.notify_waiters();
/// ticket.0.await;
/// # });
/// ```
pub mod futures {
    pub use crate::notify::{Notified, OwnedNotified};
}
