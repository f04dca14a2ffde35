//! An interpreter for each family. It uses the `subject` of the parent module.

use super::subject;

mod child;
mod place;

pub mod barrier;
pub mod broadcast;
pub mod duplex;
pub mod joinset;
pub mod localset;
pub mod mpsc;
pub mod mpsc_unbounded;
pub mod mutex;
pub mod notify;
pub mod once_cell;
pub mod oneshot;
pub mod rwlock;
pub mod semaphore;
pub mod set_once;
pub mod time;
pub mod watch;
