//! `spawn_blocking` and `block_in_place`: running code that blocks.

use crate::blocking::AtShutdown;
use crate::runtime::current_or_panic;
use crate::scheduler::multi_thread;
use std::io;
use std::panic::Location;
use wakeful_task::{Id, JoinHandle};

/// Runs a closure that may block on a thread of the runtime's blocking pool.
///
/// Use it for synchronous I/O, calls into blocking libraries, and computations of more than a few
/// milliseconds. Awaiting the returned handle gives the closure's result, or an error if it
/// panicked.
///
/// The pool starts threads when needed, up to [`Builder::max_blocking_threads`]; then closures are
/// queued. For many computations at once, limit their number, for example with a semaphore. A
/// closure that never returns occupies its thread for good and blocks the shutdown of the runtime:
/// use `std::thread` for it.
///
/// Aborting a closure works only before it starts. Dropping the runtime waits for running closures,
/// unless it is shut down with [`shutdown_timeout`] or [`shutdown_background`]. If the runtime has
/// shut down already, the closure is dropped and the handle reports a cancelled task.
///
/// [`Builder::max_blocking_threads`]: crate::runtime::Builder::max_blocking_threads
/// [`shutdown_background`]: crate::runtime::Runtime::shutdown_background
/// [`shutdown_timeout`]: crate::runtime::Runtime::shutdown_timeout
///
/// # Panics
/// Panics outside a runtime, and if the pool has no thread and the operating system refuses one.
///
/// # Examples
///
/// ```
/// use wakeful::task;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let path = std::env::temp_dir();
/// let entries = task::spawn_blocking(move || Ok(std::fs::read_dir(path)?.count()));
/// let entries: std::io::Result<usize> = entries.await.unwrap();
/// assert!(entries.is_ok());
/// # });
/// ```
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (id, caller) = (Id::next(), Location::caller());
    current_or_panic("spawn_blocking", |scheduler| scheduler.spawn_blocking(f, id, caller))
}

/// Runs a closure as [`spawn_blocking`] does, but returns an error instead of panicking.
///
/// `call` is the public function that panic messages name.
///
/// # Errors
/// Returns an error if the closure will not run: the operating system refused a thread, or the
/// runtime has shut down.
///
/// # Panics
/// Panics outside a runtime.
#[doc(hidden)]
#[track_caller]
pub fn try_spawn_blocking<F, R>(call: &str, f: F) -> io::Result<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (id, caller) = (Id::next(), Location::caller());
    let at_shutdown = AtShutdown::Cancelled;
    current_or_panic(call, |scheduler| scheduler.try_spawn_blocking(f, id, caller, at_shutdown))
}

/// Runs a closure as [`spawn_blocking`] does, or on the calling thread if there is no other.
///
/// This is for file operations, which should not fail because the operating system refuses a
/// thread. The closure has then completed when this function returns. `call` is the public function
/// that panic messages name.
///
/// # Panics
/// Panics outside a runtime.
#[doc(hidden)]
#[track_caller]
pub fn spawn_blocking_or_run<F, R>(call: &str, f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (id, caller) = (Id::next(), Location::caller());
    current_or_panic(call, |scheduler| scheduler.spawn_blocking_or_run(f, id, caller))
}

/// Runs a closure as [`spawn_blocking`] does, even if the runtime shuts down before it starts.
///
/// This is for operations that are reported as done before they are, such as buffered writes to
/// files: the shutdown waits for the closure instead of dropping it. If the operating system
/// refuses a thread, the closure runs on the calling thread before this function returns. `call` is
/// the public function that panic messages name.
///
/// # Errors
/// Returns an error if the runtime has shut down already.
///
/// # Panics
/// Panics outside a runtime.
#[doc(hidden)]
#[track_caller]
pub fn spawn_mandatory_blocking<F, R>(call: &str, f: F) -> io::Result<JoinHandle<R>>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (id, caller) = (Id::next(), Location::caller());
    current_or_panic(call, |scheduler| scheduler.try_spawn_blocking(f, id, caller, AtShutdown::Run))
}

/// Runs a closure that may block on the calling thread.
///
/// The worker's other tasks move to another thread first.
///
/// Unlike with [`spawn_blocking`], the closure may borrow and need not be `Send`, and there is no
/// handle to await. Inside it, `Handle::block_on` is allowed. Other futures of the same task, as in
/// `join!`, make no progress until the closure returns; it cannot be aborted.
///
/// Outside a runtime, and on a thread of the blocking pool, this just calls the closure.
///
/// # Panics
/// Panics on a current-thread runtime and in a `LocalSet`, whose tasks cannot move to another
/// thread. If the closure panics, so does this function.
///
/// # Examples
///
/// ```
/// use wakeful::{runtime::Handle, task};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = task::spawn(async {
///     let borrowed = String::from("not moved to another thread");
///     let len = task::block_in_place(|| borrowed.len());
///     // The closure may wait for async code.
///     let answer = task::block_in_place(|| Handle::current().block_on(async { 42 }));
///     (len, answer)
/// });
/// assert_eq!(task.await.unwrap(), (27, 42));
/// # });
/// ```
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    multi_thread::block_in_place(f)
}
