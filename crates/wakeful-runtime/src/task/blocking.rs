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
#[track_caller]
pub fn spawn_blocking<F, R>(f: F) -> JoinHandle<R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let (id, caller) = (Id::next(), Location::caller());
    current_or_panic("spawn_blocking", |scheduler| scheduler.spawn_blocking(f, id, caller))
}

/// As [`spawn_blocking`], but a shutdown that comes before the closure's turn waits for it instead of
/// dropping it: for what the caller is told has been done. `call` is what users called.
///
/// # Errors
/// If the closure will not be run.
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
/// # Panics
/// On a current-thread runtime or in a `LocalSet`.
#[track_caller]
pub fn block_in_place<F, R>(f: F) -> R
where
    F: FnOnce() -> R,
{
    multi_thread::block_in_place(f)
}
