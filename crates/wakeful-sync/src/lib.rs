//! Channels, locks and notifications for asynchronous code.
//!
//! Everything here works under any executor: a future that has to wait leaves its waker behind and is
//! woken when its turn has come. Waiting allocates nothing, since a waiter's node lies inside the
//! waiting future, and whoever came first is served first.

mod backoff;
mod barrier;
mod blocking;
pub mod broadcast;
mod cooperative;
mod notify;
mod once_cell;
pub mod oneshot;
mod set_once;
mod wait_queue;
mod wake_list;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use notify::Notify;
pub use once_cell::{OnceCell, SetError};
pub use set_once::{SetOnce, SetOnceError};

/// Named futures.
pub mod futures {
    pub use crate::notify::{Notified, OwnedNotified};
}
