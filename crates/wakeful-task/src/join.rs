//! The handle through which a task's output is awaited.

use crate::abort::{AbortHandle, abort};
use crate::current::note_wait;
use crate::error::JoinError;
use crate::header::{Header, TaskRef, release};
use crate::id::Id;
use crate::join_slot;
use crate::state::AlreadyComplete;
use crate::wait::WaitKind;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use wakeful_base::budget;

/// Owns the right to a task's output.
///
/// Awaiting it gives the output, or a [`JoinError`] if the task panicked or was cancelled. Dropping it
/// lets the task go on by itself.
///
/// ```
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let task = wakeful::spawn(async { 6 * 7 });
/// assert_eq!(task.await.unwrap(), 42);
/// # });
/// ```
///
/// # Cancel safety
/// To give up awaiting `&mut handle` loses nothing. The task goes on, and its output can be awaited again:
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
/// When polled again after it has given the output.
pub struct JoinHandle<T> {
    task: TaskRef,
    /// The output has been taken.
    taken: bool,
    _output: PhantomData<T>,
}

// SAFETY: a counted reference; the output, which is all of `T` it reaches, may go to another thread.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: as above; through a shared borrow there is no access to the output.
unsafe impl<T: Send> Sync for JoinHandle<T> {}

impl<T> UnwindSafe for JoinHandle<T> {}
impl<T> RefUnwindSafe for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}

impl<T> JoinHandle<T> {
    /// # Safety
    /// `task` must be new, with an output of type `T`, and have no join handle yet.
    pub(crate) unsafe fn from_raw(task: TaskRef) -> JoinHandle<T> {
        JoinHandle { task, taken: false, _output: PhantomData }
    }

    /// Aborts the task: its future is dropped when its poll, if one is under way, has returned.
    ///
    /// Awaiting the handle then gives a cancelled [`JoinError`], unless the task ended before. The
    /// closure of a `spawn_blocking` that has begun runs to its end.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let task = wakeful::spawn(std::future::pending::<()>());
    /// task.abort();
    /// assert!(task.await.unwrap_err().is_cancelled());
    ///
    /// // Too late for what has ended already.
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

    /// Whether the task has ended, in whatever way.
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

    /// A handle that can abort the task and nothing else.
    #[must_use = "abort handles do nothing unless `.abort` is called"]
    pub fn abort_handle(&self) -> AbortHandle {
        // SAFETY: our reference keeps the task alive.
        unsafe { AbortHandle::new(self.task) }
    }

    /// The task's id.
    pub fn id(&self) -> Id {
        self.header().id()
    }

    fn header(&self) -> &Header {
        // SAFETY: our reference keeps the task alive.
        unsafe { self.task.as_ref() }
    }

    /// Leaves `waker` in the slot for the completing side.
    fn wait_with(&self, waker: &Waker) -> Result<(), AlreadyComplete> {
        let header = self.header();
        if header.state.is_complete() {
            return Err(AlreadyComplete);
        }
        let handed_over = header.state.has_join_waker();
        if handed_over && join_slot::will_wake(header, waker) {
            return Ok(());
        }
        // Cloning and dropping a waker is somebody else's code and may panic. Both happen while the
        // slot is handed over or empty: a waker left in it otherwise would be nobody's to drop.
        let new = waker.clone();
        if handed_over {
            header.state.unset_join_waker()?;
        }
        let old = join_slot::replace(header, new);
        // Refused, the waker stays until the handle goes, as one does that was woken.
        let set = header.state.set_join_waker();
        drop(old);
        set
    }
}

/// Lets `waker` be woken when the task ends, in place of any waker set before. False if it has ended
/// already, in which case nothing will be woken.
pub fn set_join_waker<T>(handle: &mut JoinHandle<T>, waker: &Waker) -> bool {
    handle.wait_with(waker).is_ok()
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        assert!(!self.taken, "`JoinHandle` polled after it returned the task's output");
        let unit = ready!(budget::poll_proceed(cx));
        if self.wait_with(cx.waker()).is_ok() {
            note_wait(WaitKind::Task, self.id().as_u64());
            return Poll::Pending;
        }
        unit.made_progress();
        self.taken = true;
        let mut output: Option<Self::Output> = None;
        // SAFETY: the task is complete, and the output ours to take, once.
        unsafe { (self.header().vtable.take_output)(self.task, (&raw mut output).cast()) };
        Poll::Ready(output.expect("a complete task has an output"))
    }
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        let header = self.header();
        let actions = header.state.drop_join();
        if actions.drop_output && !self.taken {
            // SAFETY: complete with the handle still there: the output is ours.
            unsafe { (header.vtable.drop_output)(self.task) };
        }
        if actions.drop_waker {
            join_slot::empty(header);
        }
        if actions.keeps_ref {
            // SAFETY: our reference is given up.
            unsafe { release(self.task) };
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for JoinHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinHandle").field("id", &self.id()).finish()
    }
}
