//! A set of tasks that are joined in the order they end.
//!
//! [`JoinSet`] itself is in the module above; here it has the company of its builder.
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
use wakeful_task::{AbortHandle, Id, JoinError, JoinHandle, WaitKind, note_wait, set_join_waker};

pub use builder::Builder;

/// Tasks with the same type of output, joined in the order they end.
///
/// The set finds a task that has ended without looking at the others, so joining is as cheap with a
/// hundred thousand tasks as with ten. Dropping the set aborts what is left in it; see
/// [`detach_all`](Self::detach_all).
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
    /// An empty set.
    pub fn new() -> JoinSet<T> {
        JoinSet { tasks: NotifiedSet::new() }
    }

    /// How many tasks are in the set: those that have ended count until they are joined.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Whether no task is in the set.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

impl<T: 'static> JoinSet<T> {
    /// To say more about a task before it is spawned into the set.
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
    /// It begins to run at once, whether or not anybody joins it.
    ///
    /// # Panics
    /// Outside of a runtime.
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

    /// Spawns a task that need not be `Send` onto the current [`LocalSet`] or
    /// [`LocalRuntime`](crate::runtime::LocalRuntime) and into this set.
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
    /// Outside of either.
    #[track_caller]
    pub fn spawn_local<F>(&mut self, task: F) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(spawn_local(task))
    }

    /// Spawns a task that need not be `Send` onto `local_set` and into this set.
    ///
    /// It begins to run as soon as the `LocalSet` is driven.
    #[track_caller]
    pub fn spawn_local_on<F>(&mut self, task: F, local_set: &LocalSet) -> AbortHandle
    where
        F: Future<Output = T> + 'static,
    {
        self.insert(local_set.spawn_local(task))
    }

    /// Runs a closure that may block on a thread made for that, as a task of the set.
    ///
    /// Neither aborting it nor dropping the set stops a closure that has begun.
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
    /// Outside of a runtime.
    #[track_caller]
    pub fn spawn_blocking<F>(&mut self, f: F) -> AbortHandle
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send,
    {
        self.insert(spawn_blocking(f))
    }

    /// As [`spawn_blocking`](Self::spawn_blocking), on a thread of the runtime of `handle`.
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

    /// Waits for the next task to end, and takes it out; `None` if the set is empty.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: a task is taken out only as its output is returned.
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
    ///         else => break, // nothing more to do, and all is done
    ///     }
    /// }
    /// assert_eq!(sum, 60);
    /// # });
    /// ```
    pub async fn join_next(&mut self) -> Option<Result<T, JoinError>> {
        poll_fn(|cx| self.poll_join_next(cx)).await
    }

    /// As [`join_next`](Self::join_next), with the task's id, which an error has
    /// [in itself](JoinError::id).
    ///
    /// # Cancel safety
    /// As for [`join_next`](Self::join_next).
    pub async fn join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        poll_fn(|cx| self.poll_join_next_with_id(cx)).await
    }

    /// Takes a task out that has ended; `None` if there is none, be the set empty or not.
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

    /// As [`try_join_next`](Self::try_join_next), with the task's id, which an error has
    /// [in itself](JoinError::id).
    pub fn try_join_next_with_id(&mut self) -> Option<Result<(Id, T), JoinError>> {
        self.tasks.pop().map(output_with_id)
    }

    /// Aborts all tasks and waits until they have ended, in whatever way.
    ///
    /// The set is empty then.
    ///
    /// # Cancel safety
    /// The tasks are aborted by the first poll. Those not joined by then are still in the set.
    ///
    /// ```
    /// use wakeful::task::JoinSet;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mut set = JoinSet::new();
    /// for _ in 0..3 {
    ///     set.spawn(std::future::pending::<()>());
    /// }
    /// set.shutdown().await; // nothing of them runs any more
    /// assert!(set.is_empty());
    /// # });
    /// ```
    pub async fn shutdown(&mut self) {
        self.abort_all();
        while self.join_next().await.is_some() {}
    }

    /// Waits for all tasks to end, and returns their outputs in the order they did.
    ///
    /// # Panics
    /// If a task was cancelled; and with the task's own panic, if one panicked. The tasks that are left
    /// are aborted then. Where that won't do, call [`join_next`](Self::join_next) in a loop.
    ///
    /// # Cancel safety
    /// Dropped before it is done, it drops the outputs so far, and the set, which aborts the tasks that are left.
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
                    "`JoinSet::join_all` called on a set with a task that gave no output: {error}; \
                     call `join_next` in a loop instead where tasks can be aborted"
                ),
            }
        }
        outputs
    }

    /// Aborts all tasks. They stay in the set until they are joined.
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

    /// Takes all tasks out, and lets them go on by themselves.
    ///
    /// ```
    /// use wakeful::{sync::oneshot, task::JoinSet};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let (tx, rx) = oneshot::channel();
    /// let mut set = JoinSet::new();
    /// set.spawn(async move { tx.send("done all the same") });
    /// set.detach_all();
    /// drop(set);
    /// assert_eq!(rx.await, Ok("done all the same"));
    /// # });
    /// ```
    pub fn detach_all(&mut self) {
        self.tasks.drain(drop);
    }

    /// Polls for a task that has ended, and takes it out.
    ///
    /// `Ready(None)` if the set is empty. With `Pending` the context's waker, and none that was given
    /// before, is woken when the next task ends; or soon, if tasks have ended but the
    /// [budget](super::coop) of this poll is used up.
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

    /// As [`poll_join_next`](Self::poll_join_next), with the task's id, which an error has
    /// [in itself](JoinError::id).
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
        if self.tasks.poll_announced(cx.waker()).is_pending() {
            note_wait(WaitKind::Task, 0);
            return Poll::Pending;
        }
        let unit = ready!(budget::poll_proceed(cx));
        unit.made_progress();
        Poll::Ready(self.tasks.pop())
    }
}

/// The output of a task that has ended.
fn output<T>(mut ended: JoinHandle<T>) -> Result<T, JoinError> {
    let mut cx = Context::from_waker(Waker::noop());
    // The caller has paid, or may not be made to wait.
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

/// Spawns each future onto the current runtime, into a new set.
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

/// Spawns each future onto the current runtime and into the set.
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
