//! `task::Builder`: spawning tasks with a name.

use super::{LocalSet, spawn, spawn_local};
use crate::blocking::AtShutdown;
use crate::runtime::{Handle, current_or_panic};
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::Location;
use wakeful_task::{Id, JoinHandle, set_name};

/// A builder that spawns tasks with additional settings; a name is the only one so far.
///
/// The task keeps its name for tools that watch the program; blocking jobs do not.
///
/// ```
/// use wakeful::task::Builder;
///
/// # wakeful::runtime::Runtime::new()?.block_on(async {
/// let sum = Builder::new().name("sum").spawn(async { 1 + 1 })?;
/// assert_eq!(sum.await.unwrap(), 2);
/// # std::io::Result::Ok(())
/// # })?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Default)]
pub struct Builder<'a> {
    name: Option<&'a str>,
}

impl<'a> Builder<'a> {
    /// Creates a builder with default settings.
    pub fn new() -> Builder<'a> {
        Builder::default()
    }

    /// Sets the name of the task.
    pub fn name(&self, name: &'a str) -> Builder<'a> {
        Builder { name: Some(name) }
    }

    fn named<T>(&self, task: JoinHandle<T>) -> JoinHandle<T> {
        if let Some(name) = self.name {
            set_name(&task, name);
        }
        task
    }

    /// Spawns a task onto the current runtime, as [`task::spawn`](super::spawn).
    ///
    /// # Errors
    /// Never returns an error.
    ///
    /// # Panics
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(self.named(spawn(future)))
    }

    /// Spawns a task onto the runtime of `handle`, as [`Handle::spawn`].
    ///
    /// # Errors
    /// Never returns an error.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Ok(self.named(handle.spawn(future)))
    }

    /// Spawns a task that need not be `Send`, as [`task::spawn_local`](super::spawn_local).
    ///
    /// # Errors
    /// Never returns an error.
    ///
    /// # Panics
    /// Panics outside a [`LocalSet`] or [`LocalRuntime`](crate::runtime::LocalRuntime).
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(self.named(spawn_local(future)))
    }

    /// Spawns a task that need not be `Send` onto `local_set`, as [`LocalSet::spawn_local`].
    ///
    /// # Errors
    /// Never returns an error.
    #[track_caller]
    pub fn spawn_local_on<F>(
        self,
        future: F,
        local_set: &LocalSet,
    ) -> io::Result<JoinHandle<F::Output>>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        Ok(self.named(local_set.spawn_local(future)))
    }

    /// Runs a closure that may block, as [`task::spawn_blocking`](super::spawn_blocking).
    ///
    /// # Errors
    /// Returns an error if the operating system refuses a thread for the closure, or if the runtime
    /// has shut down. The closure is then dropped.
    ///
    /// # Panics
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn_blocking<F, R>(self, function: F) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (id, caller) = (Id::next(), Location::caller());
        current_or_panic("task::Builder::spawn_blocking", |scheduler| {
            scheduler.try_spawn_blocking(function, id, caller, AtShutdown::Cancelled)
        })
    }

    /// Runs a closure that may block on the blocking pool of the runtime of `handle`.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`spawn_blocking`](Self::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking_on<F, R>(self, function: F, handle: &Handle) -> io::Result<JoinHandle<R>>
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let (id, caller) = (Id::next(), Location::caller());
        handle.scheduler.try_spawn_blocking(function, id, caller, AtShutdown::Cancelled)
    }
}

impl fmt::Debug for Builder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("name", &self.name).finish()
    }
}
