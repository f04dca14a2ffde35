//! Spawning onto the current runtime.

use crate::runtime::current_or_panic;
use std::future::Future;
use std::panic::Location;
use wakeful_task::{Id, JoinHandle};

/// Spawns a task onto the runtime that the calling thread is in.
///
/// It begins to run at once, whether or not the handle is awaited; with the handle dropped it goes on
/// by itself.
///
/// # Panics
/// Outside of a runtime.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (id, caller) = (Id::next(), Location::caller());
    current_or_panic("spawn", |scheduler| scheduler.spawn(future, id, caller))
}
