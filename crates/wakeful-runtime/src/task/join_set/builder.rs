//! `join_set::Builder`: spawning named tasks into a `JoinSet`.

use super::JoinSet;
use crate::runtime::Handle;
use crate::task::{self, LocalSet};
use std::fmt;
use std::future::Future;
use std::io;
use wakeful_task::AbortHandle;

/// A [`task::Builder`] that spawns into a [`JoinSet`], returned by [`JoinSet::build_task`].
///
/// ```
/// use wakeful::task::JoinSet;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut set = JoinSet::new();
/// for name in ["fetch", "parse"] {
///     set.build_task().name(name).spawn(async move { name.len() })?;
/// }
/// assert_eq!(set.join_all().await, [5, 5]);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[must_use = "builders do nothing unless used to spawn a task"]
pub struct Builder<'a, T> {
    set: &'a mut JoinSet<T>,
    builder: task::Builder<'a>,
}

impl<'a, T: 'static> Builder<'a, T> {
    pub(super) fn new(set: &'a mut JoinSet<T>) -> Builder<'a, T> {
        Builder { set, builder: task::Builder::new() }
    }

    /// Sets the name of the task.
    pub fn name(self, name: &'a str) -> Builder<'a, T> {
        Builder { builder: self.builder.name(name), ..self }
    }

    /// Spawns a task into the set, as [`JoinSet::spawn`].
    ///
    /// # Errors
    /// Never returns an error.
    ///
    /// # Panics
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn(future)?))
    }

    /// Spawns a task onto the runtime of `handle` and into the set, as [`JoinSet::spawn_on`].
    ///
    /// # Errors
    /// Never returns an error.
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_on(future, handle)?))
    }

    /// Spawns a task that need not be `Send` into the set, as [`JoinSet::spawn_local`].
    ///
    /// # Errors
    /// Never returns an error.
    ///
    /// # Panics
    /// Panics outside a [`LocalSet`] or [`LocalRuntime`](crate::runtime::LocalRuntime).
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.builder.spawn_local(future)?))
    }

    /// Spawns a task onto `local_set` and into the set, as [`JoinSet::spawn_local_on`].
    ///
    /// # Errors
    /// Never returns an error.
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local_set: &LocalSet) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.builder.spawn_local_on(future, local_set)?))
    }

    /// Runs a closure that may block as a task of the set, as [`JoinSet::spawn_blocking`].
    ///
    /// # Errors
    /// Returns an error if the operating system refuses a thread for the closure, or if the runtime
    /// has shut down. The closure is then dropped and the set is unchanged.
    ///
    /// # Panics
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn_blocking<F>(self, f: F) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_blocking(f)?))
    }

    /// Runs a closure that may block on the blocking pool of the runtime of `handle`.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`spawn_blocking`](Self::spawn_blocking).
    #[track_caller]
    pub fn spawn_blocking_on<F>(self, f: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_blocking_on(f, handle)?))
    }
}

impl<T> fmt::Debug for Builder<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("join_set::Builder")
            .field("set", &self.set)
            .field("builder", &self.builder)
            .finish()
    }
}
