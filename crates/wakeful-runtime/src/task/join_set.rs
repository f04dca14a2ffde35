//! `JoinSet`: a set of tasks that are joined in the order in which they complete.
//!
//! [`JoinSet`] is also available as `task::JoinSet`. This module adds its [`Builder`].
//!
//! ```
//! use wakeful::task::join_set::{Builder, JoinSet};
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let mut set = JoinSet::new();
//! let named: Builder<'_, u32> = set.build_task().name("the answer");
//! named.spawn(async { 42 })?;
//! assert_eq!(set.join_next().await.unwrap()?, 42);
//! # std::io::Result::Ok(()) }).unwrap();
//! ```

mod builder;
mod notified_set;

use super::{LocalSet, spawn, spawn_blocking, spawn_local};
use crate::runtime::Handle;
use notified_set::NotifiedSet;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::{RefUnwindSafe, UnwindSafe, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use wakeful_base::budget;
use wakeful_base::waiting::{WaitKind, note};
use wakeful_task::{AbortHandle, Id, JoinError, JoinHandle, set_join_waker};

pub use builder::Builder;

/// A set of tasks with the same output type, which are joined in the order in which they complete.
///
/// Tasks start to run when they are spawned into the set, whether or not they are joined. A task
/// stays in the set, with its output, until a `join` method returns it. Joining costs the same
/// however many tasks the set has, since each task notifies the set when it completes.
///
/// Dropping the set aborts its tasks; [`detach_all`](Self::detach_all) lets them continue.
///
/// ```
/// use wakeful::task::JoinSet;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let mut set = JoinSet::new();
/// for n in 0..10 {
///     set.spawn(async move { n * n });
/// }
/// let mut sum = 0;
/// while let Some(square) = set.join_next().await {
///     sum += square.unwrap();
/// }
/// assert_eq!(sum, 285);
/// # });
/// ```
pub struct JoinSet<T> {
    tasks: NotifiedSet<JoinHandle<T>>,
}

impl<T> UnwindSafe for JoinSet<T> {}
impl<T> RefUnwindSafe for JoinSet<T> {}

impl<T> JoinSet<T> {
    /// Creates an empty set.
    pub fn new() -> JoinSet<T> {
        JoinSet { tasks: NotifiedSet::new() }
    }

    /// Returns the number of tasks in the set, completed tasks that are not joined yet included.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Returns whether the set has no tasks.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

impl<T: 'static> JoinSet<T> {
    /// Returns a builder that sets a task's name before spawning it into the set.
    ///
    /// ```
    /// use wakeful::task::JoinSet;
    ///
    /// # wakeful::runtime::Runtime::new()?.block_on(async {
    /// let mut set = JoinSet::new();
    /// set.build_task().name("the answer").spawn(async { 42 })?;
    /// assert_eq!(set.join_all().await, [42]);
    /// # std::io::Result::Ok(())
    /// # })?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn build_task(&mut self) -> Builder<'_, T> {
        Builder::new(self)
    }

    /// Spawns a task onto the current runtime and into the set.
    ///
    /// The returned handle aborts this task; the output is returned by
    /// [`join_next`](Self::join_next) and its relatives.
    ///
    /// # Panics
    /// Panics outside a runtime.
    #[track_caller]
    pub fn spawn<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(spawn(task))
    }

    /// Spawns a task onto the runtime of `handle` and into the set.
    ///
    /// The calling thread need not be in a runtime.
    ///
    /// ```
    /// use wakeful::{runtime::Runtime, task::JoinSet};
    ///
    /// let (one, other) = (Runtime::new()?, Runtime::new()?);
    /// let mut set = JoinSet::new();
    /// set.spawn_on(async { 1 }, one.handle());
    /// set.spawn_on(async { 2 }, other.handle());
    /// let outputs = one.block_on(set.join_all());
    /// assert_eq!(outputs.iter().sum::<i32>(), 3);
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn spawn_on<F>(&mut self, task: F, handle: &Handle) -> AbortHandle
    where
        F: Future<Output = T> + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn(task))
    }

    /// Spawns a task that need not be `Send` onto the current thread and into the set.
    ///
    /// The thread must be in a [`LocalSet`] or [`LocalRuntime`](crate::runtime::LocalRuntime).
    ///
    /// ```
    /// use std::rc::Rc;
    /// use wakeful::{runtime::LocalRuntime, task::JoinSet};
    ///
    /// LocalRuntime::new().unwrap().block_on(async {
    ///     let word = Rc::new("local");
    ///     let mut set = JoinSet::new();
    ///     set.spawn_local(async move { word });
    ///     assert_eq!(*set.join_all().await[0], "local");
    /// });
    /// ```
    ///
    /// # Panics
    /// Panics outside a `LocalSet` or `LocalRuntime`.
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(spawn_local(task))
    }

    /// Spawns a task that need not be `Send` onto `local_set` and into this set.
    ///
    /// The task runs while the `LocalSet` is driven.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    /// Runs a closure that may block on a thread of the blocking pool, as a task of the set.
    ///
    /// Once the closure has started, neither an abort nor dropping the set stops it.
    ///
    /// ```
    /// use wakeful::task::JoinSet;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = JoinSet::new();
    /// for limit in [10_u64, 100, 1000] {
    ///     set.spawn_blocking(move || (0..limit).sum::<u64>());
    /// }
    /// let mut sums = set.join_all().await;
    /// sums.sort();
    /// assert_eq!(sums, [45, 4950, 499500]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Panics outside a runtime, and if the pool has no thread and the operating system refuses
    /// one.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(spawn_blocking(f))
    }

    /// Runs a closure that may block on the runtime of `handle`, as a task of the set.
    ///
    /// # Panics
    /// Panics if the pool has no thread and the operating system refuses one.
    #[track_caller]
    pub fn spawn_blocking_on<F>(&mut self, f: F, handle: &Handle) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(handle.spawn_blocking(f))
    }

    fn insert(&mut self, task: JoinHandle<T>) -> AbortHandle {
        let abort = task.abort_handle();
        self.tasks.insert(task, set_join_waker);
        abort
    }

    /// Waits until a task completes, removes it from the set and returns its output.
    ///
    /// Returns `None` if the set is empty. The result is an error if the task panicked or was
    /// aborted.
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no task is removed.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::{sync::mpsc, task::JoinSet};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, mut orders) = mpsc::channel(8);
    /// for number in 1..=3 {
    ///     tx.send(number).await.unwrap();
    /// }
    /// drop(tx);
    ///
    /// let (mut jobs, mut sum) = (JoinSet::new(), 0);
    /// loop {
    ///     wakeful::select! {
    ///         Some(number) = orders.recv() => {
    ///             jobs.spawn(async move { number * 10 });
    ///         }
    ///         Some(output) = jobs.join_next() => sum += output.unwrap(),
    ///         else => break, // no more orders, and all jobs are done
    ///     }
    /// }
    /// assert_eq!(sum, 60);
    /// # });
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// Waits until a task completes, removes it from the set and returns its id and output.
    ///
    /// Returns `None` if the set is empty. In case of an error, the id is in [`JoinError::id`].
    ///
    /// # Cancel safety
    /// This method is cancel safe: if the future is dropped, no task is removed.
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Removes a task that has completed and returns its output, without waiting.
    ///
    /// Returns `None` if no task has completed, or if the set is empty.
    ///
    /// ```
    /// use wakeful::task::{self, JoinSet};
    ///
    /// # wakeful::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(async { 42 });
    /// assert!(set.try_join_next().is_none()); // not yet
    /// task::yield_now().await;
    /// assert_eq!(set.try_join_next().unwrap().unwrap(), 42);
    /// # });
    /// ```
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        self.tasks.pop().map(output)
    }

    /// Removes a task that has completed and returns its id and output, without waiting.
    ///
    /// Returns `None` if no task has completed. In case of an error, the id is in
    /// [`JoinError::id`].
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.tasks.pop().map(output_with_id)
    }

    /// Aborts all tasks, waits until they have ended, and empties the set.
    ///
    /// Outputs, panics and errors are dropped. Closures of `spawn_blocking` that have started are
    /// waited for.
    ///
    /// # Cancel safety
    /// The first poll aborts the tasks. If the future is dropped after it, tasks that have not been
    /// joined are still in the set; call this method again to wait for them.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::task::JoinSet;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = JoinSet::new();
    /// for _ in 0..3 {
    ///     set.spawn(std::future::pending::<()>());
    /// }
    /// set.shutdown().await; // no task runs any more
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks and returns their outputs, in the order in which the tasks completed.
    ///
    /// # Panics
    /// Panics if a task was aborted. If a task panicked, this method resumes that panic. In both
    /// cases the remaining tasks are aborted. To handle errors, call [`join_next`](Self::join_next)
    /// in a loop.
    ///
    /// # Cancel safety
    /// This method is not cancel safe: if the future is dropped, the collected outputs are lost and
    /// the remaining tasks are aborted.
    ///
    /// # Examples
    ///
    /// ```
    /// use wakeful::task::JoinSet;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let set: JoinSet<_> = ["one", "two"].into_iter().map(|word| async { word.len() }).collect();
    /// assert_eq!(set.join_all().await, [3, 3]);
    /// # });
    /// ```
    pub async fn join_all(mut self) -> Vec<T> {
        let mut outputs = Vec::with_capacity(self.len());
        while let Some(joined) = self.join_next().await {
            match joined.map_err(JoinError::try_into_panic) {
                Ok(output) => outputs.push(output),
                Err(Ok(payload)) => resume_unwind(payload),
                Err(Err(error)) => panic!(
                    "`JoinSet::join_all` called on a set with a task that has no output: {error}; call \
                     `join_next` in a loop if tasks can be aborted"
                ),
            }
        }
        outputs
    }

    /// Aborts all tasks. They stay in the set until they are joined.
    ///
    /// A task that has completed already keeps its output.
    ///
    /// ```
    /// use wakeful::task::JoinSet;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(std::future::pending::<()>());
    /// set.abort_all();
    /// assert_eq!(set.len(), 1);
    /// assert!(set.join_next().await.unwrap().unwrap_err().is_cancelled());
    /// # });
    /// ```
    pub fn abort_all(&mut self) {
        self.tasks.for_each(JoinHandle::abort);
    }

    /// Removes all tasks from the set without aborting them.
    ///
    /// The tasks continue to run, and their outputs are dropped.
    ///
    /// ```
    /// use wakeful::{sync::oneshot, task::JoinSet};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = oneshot::channel();
    /// let mut set = JoinSet::new();
    /// set.spawn(async move { tx.send("still runs") });
    /// set.detach_all();
    /// drop(set);
    /// assert_eq!(rx.await, Ok("still runs"));
    /// # });
    /// ```
    pub fn detach_all(&mut self) {
        self.tasks.drain(drop);
    }

    /// Polls for a task that has completed, removes it from the set and returns its output.
    ///
    /// Returns `Ready(None)` if the set is empty. If it returns `Pending`, the waker of `cx` is
    /// woken when a task completes; only the waker of the last call is kept. If the
    /// [budget](super::coop) of the current poll is used up, it returns `Pending` and wakes the
    /// waker even though a task has completed.
    ///
    /// ```
    /// use std::future::poll_fn;
    /// use wakeful::task::JoinSet;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = JoinSet::new();
    /// set.spawn(async { 42 });
    /// let ended = poll_fn(|cx| set.poll_join_next(cx)).await;
    /// assert_eq!(ended.unwrap().unwrap(), 42);
    /// # });
    /// ```
    pub fn poll_join_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.poll_ended(cx).map(|ended| ended.map(output))
    }

    /// Polls for a task that has completed, removes it from the set and returns its id and output.
    ///
    /// This works as [`poll_join_next`](Self::poll_join_next). In case of an error, the id is in
    /// [`JoinError::id`].
    pub fn poll_join_next_with_id(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<(Id, T), JoinError>>> {
        self.poll_ended(cx).map(|ended| ended.map(output_with_id))
    }

    fn poll_ended(&mut self, cx: &mut Context<'_>) -> Poll<Option<JoinHandle<T>>> {
        if self.is_empty() {
            return Poll::Ready(None);
        }
        if self.tasks.poll_notified(cx.waker()).is_pending() {
            note(WaitKind::AnyTask, 0, cx.waker());
            return Poll::Pending;
        }
        let unit = ready!(budget::poll_proceed(cx));
        unit.made_progress();
        Poll::Ready(self.tasks.pop())
    }
}

/// Returns the output of a task that has ended.
fn output<T>(mut ended: JoinHandle<T>) -> Result<T, JoinError> {
    let mut cx = Context::from_waker(Waker::noop());
    // Without a budget: `poll_ended` has paid for this poll, and `try_join_next` must not wait.
    match budget::with_unconstrained(|| Pin::new(&mut ended).poll(&mut cx)) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a task wakes its join waker only once it has ended"),
    }
}

fn output_with_id<T>(ended: JoinHandle<T>) -> Result<(Id, T), JoinError> {
    let id = ended.id();
    output(ended).map(|output| (id, output))
}

impl<T> Drop for JoinSet<T> {
    fn drop(&mut self) {
        self.tasks.drain(|task| task.abort());
    }
}

impl<T> fmt::Debug for JoinSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinSet").field("len", &self.len()).finish()
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> JoinSet<T> {
        JoinSet::new()
    }
}

/// Spawns each future onto the current runtime and into a new set. Panics outside a runtime.
impl<T, F> FromIterator<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn from_iter<I: IntoIterator<Item = F>>(tasks: I) -> JoinSet<T> {
        let mut set = JoinSet::new();
        set.extend(tasks);
        set
    }
}

/// Spawns each future onto the current runtime and into the set. Panics outside a runtime.
impl<T, F> Extend<F> for JoinSet<T>
where
    F: Future<Output = T> + Send + 'static,
    T: Send + 'static,
{
    fn extend<I: IntoIterator<Item = F>>(&mut self, tasks: I) {
        for task in tasks {
            self.spawn(task);
        }
    }
}
