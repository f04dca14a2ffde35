//! Channels, locks and notifications for asynchronous code.
//!
//! Everything here works under any executor: a future that has to wait leaves its waker behind and is
//! woken when its turn has come. Waiting allocates nothing, since a waiter's node lies inside the
//! waiting future, and whoever came first is served first.

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
pub mod futures {
    pub use crate::notify::{Notified, OwnedNotified};
}
