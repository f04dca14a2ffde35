//! The scheduler's references: one task, as it passes from queue to poll to end.

use crate::header::{Header, PollResult, TaskRef, release};
use crate::join_slot;
use crate::state::{Idle, Outcome, Start, WakerSlotOwner};
use crate::waker::borrowed_waker;
use std::mem;
use std::ops::Deref;
use std::ptr::NonNull;
use std::task::Context;

/// Where the entries of a task go when it is woken.
///
/// # Safety
/// A home handed to [`new_task`](crate::new_task) or [`RunningTask::set_home`](crate::RunningTask::set_home)
/// must stay valid until [`release_cell`](Self::release_cell) is called on it for that task.
pub unsafe trait Schedule: Sized + 'static {
    /// Whether [`schedule`](Self::schedule) calls a waker that somebody else may have made.
    const CALLS_WAKERS: bool = false;

    /// Takes the entry of a task that was woken or aborted. May be called on any thread, inside or
    /// outside of any runtime, and must not panic.
    ///
    /// Nothing but the entry keeps the task, and with it the home, alive: see [`Runnable::retain`].
    /// Hence the pointer: a borrow would claim that the home is there until the call returns.
    ///
    /// # Safety
    /// `home` is what the task was made with or last given; it may go away during the call.
    unsafe fn schedule(home: NonNull<Self>, runnable: Runnable);

    /// The memory of one task of this home was freed. May be called on any thread.
    ///
    /// # Safety
    /// `home` is what the task was made with or last given; it may go away during the call.
    unsafe fn release_cell(home: NonNull<Self>);
}

/// A task's queue entry: the right, and the duty, to have it polled.
///
/// Dropping one without running or cancelling it would leave the task for ever scheduled, so it must
/// not be; debug builds panic.
#[must_use = "a task whose entry is dropped never runs again"]
#[derive(Debug)]
pub struct Runnable(TaskRef);

// SAFETY: what a task does on which thread is settled by `new_task`'s contract; the entry is a pointer.
unsafe impl Send for Runnable {}

/// What a poll led to.
#[derive(Debug)]
pub enum Polled {
    /// The task waits, or wants another turn: [`RunningTask::idle`] tells.
    Pending(RunningTask),
    /// The task has ended.
    Ended(FinishingTask),
}

impl Polled {
    /// The task.
    pub fn task(&self) -> TaskRef {
        match self {
            Polled::Pending(running) => running.task(),
            Polled::Ended(ended) => ended.task(),
        }
    }
}

/// A task whose future is the holder's alone.
#[must_use = "a task left running is never polled again"]
#[derive(Debug)]
pub struct RunningTask(TaskRef);

/// A task whose future is gone, not yet known to be complete.
#[must_use = "the join handle waits for the completion"]
#[derive(Debug)]
pub struct FinishingTask {
    task: TaskRef,
    outcome: Outcome,
}

/// A complete task, with the scheduler's reference still to be given up.
#[must_use = "the task's memory waits for the scheduler's reference"]
#[derive(Debug)]
pub struct CompletedTask(TaskRef);

impl Runnable {
    /// The pointer alone, for a queue to keep.
    pub fn into_raw(self) -> TaskRef {
        let task = self.0;
        mem::forget(self);
        task
    }

    /// The entry again.
    ///
    /// # Safety
    /// `task` must come from [`into_raw`](Self::into_raw), and be used once.
    pub unsafe fn from_raw(task: TaskRef) -> Runnable {
        Runnable(task)
    }

    /// The task.
    pub fn task(&self) -> TaskRef {
        self.0
    }

    /// One more reference to the task, which keeps its home valid while the entry goes its way.
    pub fn retain(&self) -> Retained {
        self.header().state.retain();
        Retained(self.0)
    }

    /// Polls the task once, or drops its future if it was aborted. User code runs in here.
    pub fn run(self) -> Polled {
        let running = match self.header().state.start() {
            Start::Poll => RunningTask(self.into_raw()),
            Start::Cancel => return Polled::Ended(RunningTask(self.into_raw()).cancel()),
        };
        let waker = borrowed_waker(running.0);
        let mut cx = Context::from_waker(&waker);
        // SAFETY: `start` gave us the future.
        match unsafe { (running.header().vtable.poll)(running.0, &mut cx) } {
            PollResult::Pending => Polled::Pending(running),
            PollResult::Ready(outcome) => Polled::Ended(FinishingTask { task: running.0, outcome }),
        }
    }

    /// Drops the future instead of polling it. User code runs in here.
    pub fn cancel(self) -> FinishingTask {
        let _either_way = self.header().state.start();
        RunningTask(self.into_raw()).cancel()
    }

    /// Hands the entry to the task's home.
    pub fn schedule(self) {
        let vtable = self.header().vtable;
        // SAFETY: we hold the entry and give it up.
        unsafe { (vtable.schedule)(self.into_raw()) }
    }

    fn header(&self) -> &Header {
        // SAFETY: an entry's task is alive.
        unsafe { self.0.as_ref() }
    }
}

impl Deref for Runnable {
    type Target = Header;

    fn deref(&self) -> &Header {
        self.header()
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        debug_assert!(std::thread::panicking(), "the entry of {:?} was dropped", self.header());
    }
}

/// A reference that only keeps the task's memory and home.
#[derive(Debug)]
pub struct Retained(TaskRef);

impl Drop for Retained {
    fn drop(&mut self) {
        // SAFETY: `Runnable::retain` counted us.
        unsafe { release(self.0) };
    }
}

impl RunningTask {
    /// Takes the turn of a task that waits; none if it is active or complete.
    ///
    /// # Safety
    /// `task` must be alive: in the list of its home, say.
    pub unsafe fn claim_idle(task: TaskRef) -> Option<RunningTask> {
        // SAFETY: by contract.
        let claimed = unsafe { task.as_ref() }.state.claim_idle();
        claimed.then_some(RunningTask(task))
    }

    /// The task.
    pub fn task(&self) -> TaskRef {
        self.0
    }

    /// The home its entries go to.
    ///
    /// # Safety
    /// `S` must be what the task was made with.
    pub unsafe fn home<S: Schedule>(&self) -> NonNull<S> {
        // SAFETY: having the turn, we may read the home.
        self.header().home.with(|home| unsafe { *home }).cast()
    }

    /// Gives the task another home.
    ///
    /// # Safety
    /// As for [`new_task`](crate::new_task); `S` must be the type it was made with, and the reference
    /// that the old home was kept valid by must be as good for the new one.
    pub unsafe fn set_home<S: Schedule>(&self, home: NonNull<S>) {
        // SAFETY: having the turn, we may write the home; readers come after `idle`.
        self.header().home.with_mut(|slot| unsafe { *slot = home.cast() });
    }

    /// Lets the task wait. If it was woken meanwhile, the caller has its next entry.
    pub fn idle(self) -> Option<Runnable> {
        match self.header().state.idle() {
            Idle::Parked => None,
            Idle::Again => Some(Runnable(self.0)),
        }
    }

    /// Gives the task another turn, as if it had woken itself during the poll.
    ///
    /// The state word does not change, so that it is for the queue alone to order this poll before the
    /// next, wherever that is.
    pub fn requeue(self) -> Runnable {
        self.header().state.requeue();
        Runnable(self.0)
    }

    /// Drops the future. User code runs in here.
    pub fn cancel(self) -> FinishingTask {
        // SAFETY: the turn makes the future ours.
        let outcome = unsafe { (self.header().vtable.cancel)(self.0) };
        FinishingTask { task: self.0, outcome }
    }

    fn header(&self) -> &Header {
        // SAFETY: a running task is alive.
        unsafe { self.0.as_ref() }
    }
}

impl FinishingTask {
    /// The task.
    pub fn task(&self) -> TaskRef {
        self.task
    }

    /// How it ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Whether somebody has a join handle, so that the output is not dropped here.
    pub fn is_joined(&self) -> bool {
        self.header().state.has_join_interest()
    }

    /// The home its entries went to.
    ///
    /// # Safety
    /// `S` must be what the task was made with.
    pub unsafe fn home<S: Schedule>(&self) -> NonNull<S> {
        // SAFETY: we still have the turn.
        self.header().home.with(|home| unsafe { *home }).cast()
    }

    /// Completes the task, wakes who joins it, and gives the scheduler's reference up. User code runs
    /// in here.
    ///
    /// The task must be in no list any more.
    pub fn complete(self) {
        let (task, header) = (self.task, self.header());
        if header.state.is_sole() {
            // SAFETY: nobody but us can reach the task, whose output nobody wants.
            unsafe { drop_output_and_free(task, self.outcome) };
            return;
        }
        let completed = header.state.complete(self.outcome);
        if !completed.wake_join {
            if completed.drop_output {
                // SAFETY: without a join handle the output is the completing side's.
                unsafe { (header.vtable.drop_output)(task) };
            }
            // SAFETY: the scheduler's reference is ours.
            unsafe { release(task) };
            return;
        }
        join_slot::wake(header);
        if header.state.release_after_wake() == WakerSlotOwner::Completer {
            join_slot::empty(header);
            // SAFETY: with the waker to drop, the reference was kept.
            unsafe { release(task) };
        }
    }

    /// As [`complete`](Self::complete), keeping the scheduler's reference: for a task that still has
    /// to be taken out of a list.
    pub fn complete_keeping_ref(self) -> CompletedTask {
        let header = self.header();
        let completed = header.state.complete(self.outcome);
        if completed.drop_output {
            // SAFETY: without a join handle the output is the completing side's.
            unsafe { (header.vtable.drop_output)(self.task) };
        }
        if completed.wake_join {
            join_slot::wake(header);
            if header.state.release_waker() == WakerSlotOwner::Completer {
                join_slot::empty(header);
            }
        }
        CompletedTask(self.task)
    }

    fn header(&self) -> &'static Header {
        // SAFETY: the scheduler's reference keeps the task alive until given up; each use above ends
        // before that.
        unsafe { self.task.as_ref() }
    }
}

impl CompletedTask {
    /// The pointer alone, for a queue to keep.
    pub fn into_raw(self) -> TaskRef {
        let task = self.0;
        mem::forget(self);
        task
    }

    /// The reference again.
    ///
    /// # Safety
    /// `task` must come from [`into_raw`](Self::into_raw), and be used once.
    pub unsafe fn from_raw(task: TaskRef) -> CompletedTask {
        CompletedTask(task)
    }

    /// The task.
    pub fn task(&self) -> TaskRef {
        self.0
    }
}

impl Drop for CompletedTask {
    fn drop(&mut self) {
        // SAFETY: the scheduler's reference is ours.
        unsafe { release(self.0) };
    }
}

/// # Safety
/// The caller has the only reference; the task has just ended with `outcome` and is not complete yet.
unsafe fn drop_output_and_free(task: TaskRef, outcome: Outcome) {
    // SAFETY: alive until freed below.
    let header = unsafe { task.as_ref() };
    header.state.complete_sole(outcome);
    // SAFETY: nobody else can reach the output, nor the cell after it.
    unsafe {
        (header.vtable.drop_output)(task);
        (header.vtable.free)(task);
    }
}
