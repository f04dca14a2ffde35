//! Channels, locks and notifications for asynchronous code.
//!
//! Everything here works under any executor: a future that has to wait leaves its waker behind and is
//! woken when its turn has come. Waiting allocates nothing, since a waiter's node lies inside the
//! waiting future, and whoever came first is served first.
//!
//! | to | there is |
//! |---|---|
//! | hand values from many tasks to one | [`mpsc`] |
//! | answer once | [`oneshot`] |
//! | tell everybody everything | [`broadcast`] |
//! | tell everybody how things are now | [`watch`] |
//! | let one at a time, or many readers, at a value | [`Mutex`], [`RwLock`] |
//! | bound how many do something at a time | [`Semaphore`] |
//! | say that there is something to look at | [`Notify`] |
//! | begin together | [`Barrier`] |
//! | make a value when it is first needed, or wait for it | [`OnceCell`], [`SetOnce`] |
//!
//! A task that owns its state and answers requests needs two of them:
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
//!         let _ = answer.send(total); // who asked may have gone
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

mod acquire;
mod acquire_error;
mod backoff;
mod barrier;
mod batch_semaphore;
mod blocking;
pub mod broadcast;
mod cooperative;
pub mod mpsc;
mod mutex;
mod notify;
mod on_unwind;
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

/// Named futures.
///
/// ```
/// use std::sync::Arc;
/// use wakeful::sync::{Notify, futures::OwnedNotified};
///
/// /// Has a place in line, for somebody to wait at later.
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
