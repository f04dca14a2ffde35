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
///
/// What the future uses must be its own (`'static`), and `Send`, since the task may go from thread to
/// thread wherever it waits.
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let (id, caller) = (Id::next(), Location::caller());
    current_or_panic("spawn", |scheduler| scheduler.spawn(future, id, caller))
}
