//! Tasks that stay on one thread, so that they need not be `Send`.
//!
//! A [`LocalSet`] is a small scheduler inside of a future: whoever polls the set, or a
//! [`run_until`](LocalSet::run_until) of it, runs its tasks.
//!
//! ```text
//!   wake on its thread ─────▶ local queue ──┐ up to 61 tasks in a poll
//!                                           ├──────▶ polled ──▶ waits: in the list
//!   wake on another thread ─▶ remote queue ─┘            │
//!             │                                          └───▶ woken meanwhile: local queue
//!             └──▶ wakes who polls the set
//! ```
//!
//! What belongs to the owning thread alone (local queue, list, marks) is the `Core` in `tasks.rs`. It
//! is reached in two ways: through an `Owner`, which never leaves that thread, and by a wake-up that
//! has looked which thread it is on. A task's future is polled and dropped by an `Owner` only, so a
//! wake-up from elsewhere, or an abort, never touches it: such a task goes to the remote queue, and the
//! set's thread sees to it.
//!
//! As with the other schedulers, a task is put into the list when it waits for the first time: one
//! that runs to its end at once is never in it.

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
use wakeful_task::{Id, JoinHandle};

pub use current::LocalEnterGuard;
pub use spawn_local::spawn_local;

/// Tasks that run together on one thread and need not be `Send`.
///
/// They run while the set is driven: while [`run_until`](Self::run_until) or
/// [`block_on`](Self::block_on) waits for its future, or while the set itself is awaited, which is
/// ready when all its tasks have ended. On a multi-thread runtime this means inside of
/// `Runtime::block_on`, as the set cannot go to a worker.
///
/// Inside of the set, [`spawn_local`] adds tasks to it, and [`block_in_place`](crate::task::block_in_place)
/// panics, for the set's tasks cannot move to another thread meanwhile.
///
/// Drive a set from one place at a time: when a task is woken, the set wakes whoever polled it last.
/// Dropping the set drops its tasks.
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
    /// A set without tasks, which belongs to the calling thread.
    pub fn new() -> LocalSet {
        LocalSet { owner: Rc::new(Owner::new()), id: runtime::Id::new(next_runtime_id()) }
    }

    /// Enters the set's context: until the guard is dropped, [`spawn_local`] goes there.
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

    /// Spawns a task onto the set, which need not be driven yet: the task begins to run as soon as it
    /// is.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        self.owner.spawn(future, Id::next(), Location::caller())
    }

    /// Runs a future to its end on `rt`, and the set's tasks meanwhile, all on the calling thread.
    ///
    /// # Panics
    /// As [`Runtime::block_on`] does.
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

    /// Runs a future to its end inside of the set, and the set's tasks meanwhile.
    ///
    /// Tasks that have not ended by then stay in the set, and go on when it is driven again. Dropping
    /// the returned future before it is ready does nothing to them either.
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

    /// The id of the set, which no runtime and no other set has.
    pub fn id(&self) -> runtime::Id {
        self.id
    }

    /// Sets what happens when a task panics; by default only those who join it notice.
    ///
    /// With [`UnhandledPanic::ShutdownRuntime`] all other tasks are dropped at once, and whoever drives
    /// the set panics.
    pub fn unhandled_panic(&mut self, behavior: UnhandledPanic) -> &mut Self {
        self.owner.with_core(|core| core.on_panic = behavior);
        self
    }
}

/// Runs the set's tasks; ready when there are none left.
impl Future for LocalSet {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let _polling = self.owner.begin_poll(cx.waker());
        if self.owner.run_tasks() {
            cx.waker().wake_by_ref();
            Poll::Pending
        } else if self.owner.is_empty() {
            Poll::Ready(())
        } else {
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
        // Nobody is to be woken for the set's sake any more; the tasks' memory may stay for long.
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
