//! Code that blocks, in an async program.

use crate::blocking::AtShutdown;
use crate::runtime::current_or_panic;
use crate::scheduler::multi_thread;
use std::io;
use std::panic::Location;
use wakeful_task::{Id, JoinHandle};

/// Runs a closure that may block on a thread made for that.
///
/// A closure that has begun cannot be aborted, and a runtime's shutdown waits for it.
///
/// # Panics
/// Outside of a runtime.
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

/// As [`spawn_blocking`], with an error where the operating system gives no thread. `call` is what users
/// called.
///
/// # Errors
/// If the closure will not be run.
///
/// # Panics
/// Outside of a runtime.
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

/// As [`spawn_blocking`], but if the operating system gives no thread, the closure runs on the calling
/// one before this returns: for operations on files. `call` is what users called.
///
/// # Panics
/// Outside of a runtime.
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

/// As [`spawn_blocking`], but a shutdown that comes before the closure's turn waits for it instead of
/// dropping it: for what the caller is told has been done. If the operating system gives no thread, the
/// closure runs on the calling one before this returns. `call` is what users called.
///
/// # Errors
/// If the runtime has shut down.
///
/// # Panics
/// Outside of a runtime.
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

/// Runs a closure that may block on this very thread, whose other tasks move to another one meanwhile.
///
/// Other futures of the same task, those in a `join!` say, stand still until it returns.
///
/// Outside of a runtime, and on a thread that [`spawn_blocking`] has, the closure is simply called.
///
/// # Panics
/// On a current-thread runtime or in a `LocalSet`.
///
/// ```
/// use wakeful::{runtime::Handle, task};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = task::spawn(async {
///     let borrowed = String::from("not moved to another thread");
///     let len = task::block_in_place(|| borrowed.len());
///     // Inside it is allowed to wait for async code, too.
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
