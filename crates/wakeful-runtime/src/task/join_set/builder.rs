//! Spawning into a set with more to say about the task.

use super::JoinSet;
use crate::runtime::Handle;
use crate::task::{self, LocalSet};
use std::fmt;
use std::future::Future;
use std::io;
use wakeful_task::AbortHandle;

/// A [`task::Builder`] whose tasks go into a [`JoinSet`]. From [`JoinSet::build_task`].
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

    /// Gives the task a name.
    pub fn name(self, name: &'a str) -> Builder<'a, T> {
        Builder { builder: self.builder.name(name), ..self }
    }

    /// As [`JoinSet::spawn`].
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn(future)?))
    }

    /// As [`JoinSet::spawn_on`].
    #[track_caller]
    pub fn spawn_on<F>(self, future: F, handle: &Handle) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_on(future, handle)?))
    }

    /// As [`JoinSet::spawn_local`].
    ///
    /// # Panics
    /// Outside of a [`LocalSet`] and of a [`LocalRuntime`](crate::runtime::LocalRuntime).
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.builder.spawn_local(future)?))
    }

    /// As [`JoinSet::spawn_local_on`].
    #[track_caller]
    pub fn spawn_local_on<F>(self, future: F, local_set: &LocalSet) -> io::Result<AbortHandle>
    where
        F: Future<Output = T> + 'static,
    {
        Ok(self.set.insert(self.builder.spawn_local_on(future, local_set)?))
    }

    /// As [`JoinSet::spawn_blocking`], with an error where that panics for want of a thread, and once
    /// the runtime has shut down.
    ///
    /// # Panics
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn_blocking<F>(self, f: F) -> io::Result<AbortHandle>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        Ok(self.set.insert(self.builder.spawn_blocking(f)?))
    }

    /// As [`spawn_blocking`](Self::spawn_blocking), on a thread of the runtime of `handle`.
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
