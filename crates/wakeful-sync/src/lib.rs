//! Channels, locks and notifications for asynchronous code.
//!
//! Everything here works under any executor: a future that has to wait leaves its waker behind and is
//! woken when its turn has come. Waiting allocates nothing, since a waiter's node lies inside the
//! waiting future, and whoever came first is served first.

mod acquire;
mod acquire_error;
mod backoff;
mod batch_semaphore;
mod blocking;
pub mod mpsc;
mod mutex;
mod on_unwind;
mod permit_queue;
mod rwlock;
mod semaphore;
mod wake_list;

pub use acquire_error::{AcquireError, TryAcquireError};
pub use mutex::{
    MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard, TryLockError,
};
pub use rwlock::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};
pub use semaphore::{OwnedSemaphorePermit, Semaphore, SemaphorePermit};
