//! `spawn`: spawning onto the current runtime.

use crate::runtime::current_or_panic;
use std::future::Future;
use std::panic::Location;
use wakeful_task::{Id, JoinHandle};

/// Spawns a task onto the current runtime and returns a handle to its output.
///
/// The task runs concurrently with the caller, even if the handle is never awaited. Awaiting the
/// handle returns the output, or an error if the task panicked or was aborted. Dropping the handle
/// detaches the task: it keeps running. Tasks that have not completed when the runtime shuts down
/// are dropped.
///
/// The future must own what it uses (`'static`). It must be `Send`, since the task may move to
/// another thread whenever it waits; [`spawn_local`](super::spawn_local) has no such bound.
///
/// # Panics
/// Panics outside a runtime. To spawn from such a thread, use [`Handle::spawn`].
///
/// [`Handle::spawn`]: crate::runtime::Handle::spawn
///
/// # Examples
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let squares: Vec<_> = (1..=3).map(|n| wakeful::spawn(async move { n * n })).collect();
/// let mut sum = 0;
/// for square in squares {
///     sum += square.await.unwrap();
/// }
/// assert_eq!(sum, 14);
/// # });
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (id, caller) = (Id::next(), Location::caller());
    current_or_panic("spawn", |scheduler| scheduler.spawn(future, id, caller))
}
