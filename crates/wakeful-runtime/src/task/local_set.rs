//! `LocalSet`: tasks that stay on one thread and need not be `Send`.
//!
//! A [`LocalSet`] is a small scheduler inside a future: polling the set, or a future of
//! [`run_until`](LocalSet::run_until), runs its tasks.
//!
//! ```text
//!   wake on its thread ─────▶ local queue ──┐ up to 61 tasks in a poll
//!                                           ├──────▶ polled ──▶ waits: in the list
//!   wake on another thread ─▶ remote queue ─┘            │
//!             │                                          └───▶ woken meanwhile: local queue
//!             └──▶ wakes the task that polls the set
//! ```
//!
//! The state that only the owning thread accesses (local queue, list, flags) is the `Core` in
//! `tasks.rs`. There are two ways to it: through an `Owner`, which never leaves that thread, and in
//! a wake-up that has compared the thread it runs on. Only an `Owner` polls futures and drops them.
//! A wake-up or an abort on another thread puts the task into the remote queue, and the owning
//! thread does the rest.
//!
//! As in the other schedulers, a task enters the list when it waits for the first time. A task
//! whose first poll completes is never in it.
//!
//! Files: `owner.rs` spawns and runs tasks, `tasks.rs` has the shared state and the wake-up path,
//! `waker_slot.rs` the waker of the task that polls the set, `shutdown.rs` drops all tasks,
//! `current.rs` tracks which set a thread is in, and `spawn_local.rs` has the public function.

mod current;
mod owner;
mod shutdown;
mod spawn_local;
mod tasks;
mod waker_slot;

use crate::runtime::{self, Runtime, UnhandledPanic};
use crate::scheduler::next_runtime_id;
use owner::Owner;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};
use wakeful_base::waiting::{WaitKind, note};
use wakeful_task::{Id, JoinHandle};

pub use current::LocalEnterGuard;
pub use spawn_local::spawn_local;

/// A set of tasks that run on one thread and need not be `Send`.
///
/// The tasks run only while the set is driven, which is done by [`run_until`](Self::run_until),
/// [`block_on`](Self::block_on), or awaiting the set itself; the latter completes when all tasks
/// have ended. A `LocalSet` is not `Send`, so it cannot be driven by a task of
/// [`spawn`](crate::task::spawn): on a multi-thread runtime, drive it in `Runtime::block_on`. A
/// [`LocalRuntime`](crate::runtime::LocalRuntime) needs no `LocalSet`.
///
/// Code inside the set adds tasks with [`spawn_local`]. There,
/// [`block_in_place`](crate::task::block_in_place) panics, since the set's tasks cannot move to
/// another thread. A task that blocks delays all tasks of the set; there is no hand-off.
///
/// Drive a set in one place at a time: a wake-up of its tasks wakes only the task that polled the
/// set last. Dropping the set drops its tasks. Tasks that are spawned onto it later, through a
/// guard of [`enter`](Self::enter), are cancelled immediately.
///
/// ```
/// use std::cell::RefCell;
/// use std::rc::Rc;
/// use wakeful::{runtime::Runtime, task};
///
/// let runtime = Runtime::new().unwrap();
/// let local = task::LocalSet::new();
/// let words = Rc::new(RefCell::new(Vec::new()));
///
/// let for_task = words.clone();
/// local.spawn_local(async move {
///     task::yield_now().await;
///     for_task.borrow_mut().push("world");
/// });
/// words.borrow_mut().push("hello");
///
/// runtime.block_on(local);
/// assert_eq!(*words.borrow(), ["hello", "world"]);
/// ```
pub struct LocalSet {
    owner: Rc<Owner>,
    id: runtime::Id,
}

impl LocalSet {
    /// Creates an empty set that belongs to the calling thread.
    pub fn new() -> LocalSet {
        let id = next_runtime_id();
        LocalSet { owner: Rc::new(Owner::new(id.get())), id: runtime::Id::new(id) }
    }

    /// Enters the set's context until the returned guard is dropped.
    ///
    /// Meanwhile [`spawn_local`] on this thread spawns onto this set.
    ///
    /// ```
    /// use wakeful::{runtime::Runtime, task};
    ///
    /// let local = task::LocalSet::new();
    /// let _inside = local.enter();
    /// let join = task::spawn_local(async { 42 });
    ///
    /// let runtime = Runtime::new().unwrap();
    /// assert_eq!(local.block_on(&runtime, join).unwrap(), 42);
    /// ```
    pub fn enter(&self) -> LocalEnterGuard {
        current::enter_unordered(self.owner.clone())
    }

    /// Spawns a task that need not be `Send` onto the set and returns a handle to its output.
    ///
    /// The task runs while the set is driven. Spawning needs no runtime.
    ///
    /// ```
    /// use std::rc::Rc;
    /// use wakeful::{runtime::Runtime, task::LocalSet};
    ///
    /// let word = Rc::new("local");
    /// let local = LocalSet::new();
    /// let task = local.spawn_local(async move { word.len() });
    ///
    /// let runtime = Runtime::new().unwrap();
    /// assert_eq!(local.block_on(&runtime, task).unwrap(), 5);
    /// ```
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.owner.spawn(future, Id::next(), Location::caller())
    }

    /// Runs a future to completion in `rt` on the calling thread, and the set's tasks meanwhile.
    ///
    /// Tasks that have not ended when the future completes stay in the set, and continue when it is
    /// driven again.
    ///
    /// # Panics
    /// Panics in the same cases as [`Runtime::block_on`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    /// use wakeful::{runtime::Runtime, task::{LocalSet, spawn_local}};
    ///
    /// let runtime = Runtime::new().unwrap();
    /// let word = LocalSet::new().block_on(&runtime, async {
    ///     let word = Rc::new("local");
    ///     spawn_local(async move { word }).await.unwrap()
    /// });
    /// assert_eq!(*word, "local");
    /// ```
    #[track_caller]
    pub fn block_on<F>(&self, rt: &Runtime, future: F) -> F::Output
    where
        F: Future,
    {
        rt.block_on(self.run_until(future))
    }

    /// Runs a future to completion inside the set, and the set's tasks meanwhile.
    ///
    /// Tasks that have not ended when the future completes stay in the set, and continue when it is
    /// driven again.
    ///
    /// # Cancel safety
    /// If the returned future is dropped, `future` is dropped with it. The set's tasks stay in the
    /// set.
    ///
    /// # Panics
    /// Panics if a task has panicked and [`unhandled_panic`](Self::unhandled_panic) is set to shut
    /// down.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::rc::Rc;
    /// use wakeful::{runtime::Runtime, task};
    ///
    /// # Runtime::new().unwrap().block_on(async {
    /// let greeting = Rc::new("hello");
    /// let local = task::LocalSet::new();
    /// let len = local.run_until(async move {
    ///     task::spawn_local(async move { greeting.len() }).await.unwrap()
    /// });
    /// assert_eq!(len.await, 5);
    /// # });
    /// ```
    pub async fn run_until<F>(&self, future: F) -> F::Output
    where
        F: Future,
    {
        let mut future = pin!(future);
        poll_fn(|cx| self.poll_until(future.as_mut(), cx)).await
    }

    fn poll_until<F: Future>(&self, future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let _polling = self.owner.begin_poll(cx.waker());
        if let Poll::Ready(output) = future.poll(cx) {
            self.owner.wake_poller_if_ready();
            return Poll::Ready(output);
        }
        if self.owner.run_tasks() {
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Returns the id of the set, which differs from those of all runtimes and other sets.
    pub fn id(&self) -> runtime::Id {
        self.id
    }

    /// Sets what the set does when one of its tasks panics.
    ///
    /// The default is [`UnhandledPanic::Ignore`]: the panic is returned by the task's `JoinHandle`.
    /// With [`UnhandledPanic::ShutdownRuntime`] all tasks of the set are dropped immediately, and
    /// driving the set panics.
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        self.owner.with_core(|core| core.on_panic = behavior);
        self
    }
}

/// Runs the set's tasks, and completes when all of them have ended.
impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let _polling = self.owner.begin_poll(cx.waker());
        if self.owner.run_tasks() {
            note(WaitKind::Turn, 0, cx.waker());
            cx.waker().wake_by_ref();
            Poll::Pending
        } else if self.owner.is_empty() {
            Poll::Ready(())
        } else {
            note(WaitKind::AnyTask, 0, cx.waker());
            Poll::Pending
        }
    }
}

impl Drop for LocalSet {
    fn drop(&mut self) {
        {
            let _inside = self.owner.enter();
            self.owner.drop_all();
        }
        // Nothing needs to be woken for the set any more. Without this, the waker would live as
        // long as the last waker of a task.
        drop(self.owner.tasks.poller.take());
    }
}

impl Default for LocalSet {
    fn default() -> LocalSet {
        LocalSet::new()
    }
}

impl fmt::Debug for LocalSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalSet").finish()
    }
}
