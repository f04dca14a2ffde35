//! The handle to await a task's output.

use crate::abort::{AbortHandle, abort};
use crate::error::JoinError;
use crate::header::{Header, TaskRef, release};
use crate::id::Id;
use crate::join_slot;
use crate::state::AlreadyComplete;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use wakeful_base::budget;
use wakeful_base::waiting::{WaitKind, note};

/// A handle to await the output of a task.
///
/// Awaiting it returns the output, or a [`JoinError`] if the task panicked or was cancelled.
/// Dropping the handle detaches the task, which keeps running.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = wakeful::spawn(async { 6 * 7 });
/// assert_eq!(task.await.unwrap(), 42);
/// # });
/// ```
///
/// # Cancel safety
/// Awaiting `&mut handle` is cancel safe. If the future is dropped, the task keeps running and its
/// output can be awaited again:
///
/// ```
/// use std::time::Duration;
/// use wakeful::{sync::oneshot, time::timeout};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel();
/// let mut task = wakeful::spawn(rx);
/// assert!(timeout(Duration::from_millis(1), &mut task).await.is_err());
/// tx.send("at last").unwrap();
/// assert_eq!(task.await.unwrap(), Ok("at last"));
/// # });
/// ```
///
/// # Panics
/// Panics if polled again after it has returned the output.
pub struct JoinHandle<T> {
    task: TaskRef,
    /// Whether the output has been taken.
    taken: bool,
    _output: PhantomData<T>,
}

// SAFETY: the handle is a counted reference. The only `T` that it gives access to is the output,
// which may move to another thread because `T: Send`.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: as above. A shared reference to the handle gives no access to the output.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// The caller must own the reference and the join interest that the state word counts for this
    /// handle.
    pub(crate) unsafe fn from_raw(task: TaskRef) -> JoinHandle<T> {
        JoinHandle { task, taken: false, _output: PhantomData }
    }

    /// Aborts the task: its future is dropped instead of being polled again.
    ///
    /// A poll that is in progress is not interrupted. Awaiting the handle then returns a cancelled
    /// [`JoinError`], unless the task finished first. The abort has no effect on the closure of a
    /// `spawn_blocking` that has started.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = wakeful::spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    ///
    /// // An abort has no effect on a task that has finished.
    /// let done = wakeful::spawn(async { 42 });
    /// while !done.is_finished() {
    ///     wakeful::task::yield_now().await;
    /// }
    /// done.abort();
    /// assert_eq!(done.await.unwrap(), 42);
    /// # });
    /// ```
    pub fn abort(&self) {
        // SAFETY: our reference keeps the task alive.
        unsafe { abort(self.task) };
    }

    /// Returns whether the task has finished, been cancelled or panicked.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = wakeful::spawn(async { 42 });
    /// while !task.is_finished() {
    ///     wakeful::task::yield_now().await;
    /// }
    /// assert_eq!(task.await.unwrap(), 42); // does not wait
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.header().state.is_complete()
    }

    /// Returns a handle that can abort the task and do nothing else.
    #[must_use = "abort handles do nothing unless `.abort` is called"]
    pub fn abort_handle(&self) -> AbortHandle {
        // SAFETY: our reference keeps the task alive.
        unsafe { AbortHandle::new(self.task) }
    }

    /// Returns the task's id.
    pub fn id(&self) -> Id {
        self.header().id()
    }

    fn header(&self) -> &Header {
        // SAFETY: our reference keeps the task alive.
        unsafe { self.task.as_ref() }
    }

    /// Leaves `waker` in the waker slot for the completing thread.
    fn wait_with(&self, waker: &Waker) -> Result<(), AlreadyComplete> {
        let header = self.header();
        if header.state.is_complete() {
            return Err(AlreadyComplete);
        }
        let handed_over = header.state.has_join_waker();
        if handed_over && join_slot::will_wake(header, waker) {
            return Ok(());
        }
        // Cloning and dropping a waker runs external code, which may panic. Both happen while the
        // slot is handed over or empty. Otherwise a panic could leave a waker in the slot that
        // nothing drops.
        let new = waker.clone();
        if handed_over {
            header.state.unset_join_waker()?;
        }
        let old = join_slot::replace(header, new);
        // If the task has completed meanwhile, the waker stays in the slot until the handle is
        // dropped, like one that has been woken.
        let set = header.state.set_join_waker();
        drop(old);
        set
    }
}

/// Makes the task's completion wake `waker`, instead of a waker that was set before.
///
/// Returns false if the task is complete already; nothing will be woken then.
pub fn set_join_waker<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> bool {
    handle.wait_with(waker).is_ok()
}

/// Gives the task a name, unless it has one already.
pub fn set_name<T>(handle: &JoinHandle<T>, name: &str) {
    handle.header().origin.set_name(name);
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.taken, "`JoinHandle` polled after it returned the task's output");
        let unit = ready!(budget::poll_proceed(cx));
        if self.wait_with(cx.waker()).is_ok() {
            note(WaitKind::Task, self.id().as_u64(), cx.waker());
            return Poll::Pending;
        }
        unit.made_progress();
        self.taken = true;
        let mut output: Option<Self::Output> = None;
        // SAFETY: the task is complete and the handle exists, so the output is the handle's.
        // `taken` makes sure that it is taken once.
        unsafe { (self.header().vtable.take_output)(self.task, (&raw mut output).cast()) };
        Poll::Ready(output.expect("a complete task has an output"))
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let header = self.header();
        let actions = header.state.drop_join();
        if actions.drop_output && !self.taken {
            // SAFETY: the task completed while the handle existed, so the output is the handle's.
            // It has not been taken.
            unsafe { (header.vtable.drop_output)(self.task) };
        }
        if actions.drop_waker {
            join_slot::empty(header);
        }
        if actions.keeps_ref {
            // SAFETY: releases this handle's own reference, which is not used afterwards.
            unsafe { release(self.task) };
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id()).finish()
    }
}
