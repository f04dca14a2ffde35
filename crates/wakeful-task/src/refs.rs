//! The scheduler's references to a task, as it goes from a queue through a poll to its end.

use crate::header::{Header, PollResult, TaskRef, release};
use crate::join_slot;
use crate::record::PollTimes;
use crate::recording;
use crate::state::{Idle, Outcome, Start, WakerSlotOwner};
use crate::waker::{borrowed_waker, perform};
use std::mem;
use std::ops::Deref;
use std::ptr::NonNull;
use std::task::{Context, Waker};
use wakeful_base::{ticks, waiting};

/// A scheduler, or one of its task lists: where the queue entry of a woken task goes.
///
/// # Safety
/// A home passed to [`new_task`](crate::new_task) or
/// [`RunningTask::set_home`](crate::RunningTask::set_home) must stay valid until
/// [`release_cell`](Self::release_cell) is called on it for that task.
pub unsafe trait Schedule: Sized + 'static {
    /// Whether [`schedule`](Self::schedule) calls a waker that may come from outside the runtime.
    const CALLS_WAKERS: bool = false;

    /// Takes the queue entry of a task that was woken or aborted.
    ///
    /// May be called on any thread, inside or outside any runtime, and must not panic. Only the
    /// entry keeps the task, and with it the home, alive: see [`Runnable::retain`]. That is why the
    /// home is passed as a pointer: a reference would claim that the home stays valid until the
    /// call returns.
    ///
    /// # Safety
    /// `home` must be the task's home: the one set last, or else the one that the task was created
    /// with. It may become invalid during the call.
    unsafe fn schedule(home: NonNull<Self>, runnable: Runnable);

    /// Releases what kept the home valid for a task whose memory has been freed. May be called on
    /// any thread.
    ///
    /// # Safety
    /// `home` must be the task's home: the one set last, or else the one that the task was created
    /// with. It may become invalid during the call.
    unsafe fn release_cell(home: NonNull<Self>);
}

/// The queue entry of a task: the right to poll it, and the duty to do so.
///
/// It must be run, cancelled or scheduled. Dropping it would leave the task scheduled but in no
/// queue, so that it would never run again; debug builds panic.
#[must_use = "a task whose entry is dropped never runs again"]
#[derive(Debug)]
pub struct Runnable(TaskRef);

// SAFETY: an entry is a pointer. The contract of `new_task` says on which thread the task may be
// polled.
unsafe impl Send for Runnable {}

/// The result of [`Runnable::run`].
#[derive(Debug)]
pub enum Polled {
    /// The task is pending, or wants to be polled again: [`RunningTask::idle`] tells.
    Pending(RunningTask),
    /// The future has finished.
    Ended(FinishingTask),
}

impl Polled {
    /// Returns a pointer to the task.
    pub fn task(&self) -> TaskRef {
        match self {
            Polled::Pending(running) => running.task(),
            Polled::Ended(ended) => ended.task(),
        }
    }
}

/// A task that is being polled or has just been polled.
///
/// The holder has exclusive access to its future.
#[must_use = "a task left running is never polled again"]
#[derive(Debug)]
pub struct RunningTask(TaskRef);

/// A task whose future has been dropped, but that is not marked complete yet.
#[must_use = "the join handle waits for the completion"]
#[derive(Debug)]
pub struct FinishingTask {
    task: TaskRef,
    outcome: Outcome,
}

/// A complete task whose scheduler's reference is not released yet.
///
/// Dropping it releases the reference.
#[must_use = "the task's memory waits for the scheduler's reference"]
#[derive(Debug)]
pub struct CompletedTask(TaskRef);

impl Runnable {
    /// Returns the pointer that a queue stores.
    pub fn into_raw(self) -> TaskRef {
        let task = self.0;
        mem::forget(self);
        task
    }

    /// Turns a stored pointer back into the entry.
    ///
    /// # Safety
    /// `task` must come from [`into_raw`](Self::into_raw), and be used once.
    pub unsafe fn from_raw(task: TaskRef) -> Runnable {
        Runnable(task)
    }

    /// Returns a pointer to the task.
    pub fn task(&self) -> TaskRef {
        self.0
    }

    /// Takes another reference to the task.
    ///
    /// It keeps the task's home valid after the entry has been passed on.
    pub fn retain(&self) -> Retained {
        self.header().state.retain();
        Retained(self.0)
    }

    /// Polls the task once, or drops its future if it was aborted. Runs user code.
    #[inline]
    pub fn run(self) -> Polled {
        let start = self.header().state.start();
        self.run_as(start)
    }

    #[inline]
    fn run_as(self, start: Start) -> Polled {
        let running = match start {
            Start::Poll => RunningTask(self.into_raw()),
            Start::PollAsked => return RunningTask(self.into_raw()).poll_asked(),
            Start::Cancel => return Polled::Ended(RunningTask(self.into_raw()).cancel()),
        };
        let waker = borrowed_waker(running.0);
        running.poll(&waker)
    }

    /// Does the same as [`run`](Self::run), and records the poll if [`recording`] is on.
    ///
    /// `yields` tells after the poll whether the caller will [requeue](RunningTask::requeue) the
    /// task.
    #[cold]
    pub fn run_observed(self, yields: impl FnOnce() -> bool) -> Polled {
        let Some(epoch) = recording::epoch() else { return self.run() };
        let begun = ticks::now();
        let scheduled = self.header().origin.record_or_install().begin_poll(epoch, begun);
        let start = self.header().state.start_recorded();
        let polled = self.run_as(start);
        // SAFETY: `polled` holds the scheduler's reference to the task.
        let header = unsafe { polled.task().as_ref() };
        let yields = matches!(polled, Polled::Pending(_)) && yields();
        let now = ticks::now();
        let record = header.origin.record_or_install();
        let took = record.end_poll(begun, now, yields, header.slot.id());
        if yields {
            recording::add_wake(epoch);
        }
        recording::add_poll(epoch, PollTimes { took, scheduled });
        polled
    }

    /// Records that the task has just been spawned, if [`recording`] is on. The caller has not
    /// scheduled it yet.
    #[cold]
    pub fn record_spawn(&self) {
        if let Some(epoch) = recording::epoch() {
            let record = self.header().origin.record_or_install();
            record.note_spawn(epoch, ticks::now(), waiting::current_id());
        }
    }

    /// Drops the future instead of polling it. Runs user code.
    pub fn cancel(self) -> FinishingTask {
        let _either_way = self.header().state.start();
        RunningTask(self.into_raw()).cancel()
    }

    /// Passes the entry to the task's home.
    pub fn schedule(self) {
        let vtable = self.header().vtable;
        // SAFETY: the entry is ours, and given up here.
        unsafe { (vtable.schedule)(self.into_raw()) }
    }

    fn header(&self) -> &Header {
        // SAFETY: the task of an entry is alive, since the scheduler's reference is released only
        // at completion.
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

/// A reference that only keeps the task's memory and its home alive.
#[derive(Debug)]
pub struct Retained(TaskRef);

impl Retained {
    /// Takes a reference to a task.
    ///
    /// # Safety
    /// The task must be alive.
    pub unsafe fn new(task: TaskRef) -> Retained {
        // SAFETY: by contract.
        unsafe { task.as_ref() }.state.retain();
        Retained(task)
    }

    /// Returns a pointer to the task.
    pub fn task(&self) -> TaskRef {
        self.0
    }

    /// Wakes the task for a poll that reports the leaves which return `Pending` in it, through
    /// [`wakeful_base::waiting::take_answers`].
    ///
    /// Does nothing if the task has ended. The poll is an ordinary one, after a spurious wake-up.
    pub fn ask(&self) {
        let action = self.state.ask();
        // SAFETY: this reference keeps the task alive, and the action is from its state word.
        unsafe { perform(self.0, action) };
    }
}

// SAFETY: a counted reference that gives access to the header only, whose shared parts are `Sync`.
unsafe impl Send for Retained {}

impl Deref for Retained {
    type Target = Header;

    fn deref(&self) -> &Header {
        // SAFETY: this reference keeps the task alive.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Retained {
    fn drop(&mut self) {
        // SAFETY: releases the reference that `Runnable::retain` counted.
        unsafe { release(self.0) };
    }
}

impl RunningTask {
    /// Takes the right to poll an idle task.
    ///
    /// Returns `None` if the task is scheduled, running or complete.
    ///
    /// # Safety
    /// `task` must be alive, as it is while it is in the list of its home.
    pub unsafe fn claim_idle(task: TaskRef) -> Option<RunningTask> {
        // SAFETY: by contract.
        let claimed = unsafe { task.as_ref() }.state.claim_idle();
        claimed.then_some(RunningTask(task))
    }

    /// Polls the future. Called once for each queue entry.
    #[inline]
    fn poll(self, waker: &Waker) -> Polled {
        // SAFETY: the scheduler's reference keeps the task alive during the poll. A task that is
        // being polled is in no queue.
        let _current = unsafe { waiting::enter(&raw const self.header().slot) };
        self.poll_entered(waker)
    }

    #[inline]
    fn poll_entered(self, waker: &Waker) -> Polled {
        let mut cx = Context::from_waker(waker);
        // SAFETY: `start` returned `Poll`, so this value has the right to poll, and the cell holds
        // a future.
        match unsafe { (self.header().vtable.poll)(self.0, &mut cx) } {
            PollResult::Pending => Polled::Pending(self),
            PollResult::Ready(outcome) => Polled::Ended(FinishingTask { task: self.0, outcome }),
        }
    }

    /// Polls the future and reports the leaves that return `Pending`.
    #[cold]
    fn poll_asked(self) -> Polled {
        let waker = borrowed_waker(self.0);
        let id = self.header().slot.id();
        // SAFETY: as in `poll`.
        let current = unsafe { waiting::enter(&raw const self.header().slot) };
        let (polled, leaves) = waiting::collect(&waker, || self.poll_entered(&waker));
        drop(current);
        if let Polled::Pending(_) = polled {
            waiting::answer(id, leaves);
        }
        polled
    }

    /// Returns a pointer to the task.
    pub fn task(&self) -> TaskRef {
        self.0
    }

    /// Returns the home of the task.
    ///
    /// # Safety
    /// `S` must be the type of home that the task was created with.
    pub unsafe fn home<S: Schedule>(&self) -> NonNull<S> {
        // SAFETY: the holder of the right to poll may read the home.
        self.header().home.with(|home| unsafe { *home }).cast()
    }

    /// Gives the task another home.
    ///
    /// # Safety
    /// As for [`new_task`](crate::new_task). `S` must be the type of home that the task was created
    /// with. [`release_cell`](Schedule::release_cell) will be called on the new home instead of the
    /// old one, so a reference count that keeps the home valid for this task must also keep the new
    /// home valid.
    pub unsafe fn set_home<S: Schedule>(&self, home: NonNull<S>) {
        // SAFETY: the holder of the right to poll may write the home. Another thread reads it only
        // after acquiring that right, from the state word (`idle`) or from a queue (`requeue`), and
        // both make this write visible to it.
        self.header().home.with_mut(|slot| unsafe { *slot = home.cast() });
    }

    /// Gives up the right to poll. If the task was woken meanwhile, returns its next entry instead.
    pub fn idle(self) -> Option<Runnable> {
        match self.header().state.idle() {
            Idle::Waiting => None,
            Idle::Again => Some(Runnable(self.0)),
        }
    }

    /// Schedules the task again, as if it had woken itself during the poll.
    ///
    /// The state word does not change, so it orders nothing. The queue must make this poll visible
    /// to the next one, whichever thread runs it.
    pub fn requeue(self) -> Runnable {
        self.header().state.requeue();
        Runnable(self.0)
    }

    /// Drops the future. Runs user code.
    pub fn cancel(self) -> FinishingTask {
        // SAFETY: the right to poll gives exclusive access to the future, which the cell holds.
        let outcome = unsafe { (self.header().vtable.cancel)(self.0) };
        FinishingTask { task: self.0, outcome }
    }

    fn header(&self) -> &Header {
        // SAFETY: a running task is alive, since the scheduler's reference is released only at
        // completion.
        unsafe { self.0.as_ref() }
    }
}

impl FinishingTask {
    /// Returns a pointer to the task.
    pub fn task(&self) -> TaskRef {
        self.task
    }

    /// Returns how the task ended.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// Returns whether there is a join handle.
    ///
    /// If there is one, completing the task does not drop the output.
    pub fn is_joined(&self) -> bool {
        self.header().state.has_join_interest()
    }

    /// Returns the home of the task.
    ///
    /// # Safety
    /// `S` must be the type of home that the task was created with.
    pub unsafe fn home<S: Schedule>(&self) -> NonNull<S> {
        // SAFETY: a finishing task still has the right to poll.
        self.header().home.with(|home| unsafe { *home }).cast()
    }

    /// Completes the task, wakes its join handle, and releases the scheduler's reference.
    ///
    /// Runs user code.
    ///
    /// The task must not be in any list any more.
    pub fn complete(self) {
        let (task, header) = (self.task, self.header());
        if header.state.is_sole() {
            // SAFETY: this is the only reference, and there is no join handle to take the output.
            unsafe { drop_output_and_free(task, self.outcome) };
            return;
        }
        let completed = header.state.complete(self.outcome);
        if !completed.wake_join {
            if completed.drop_output {
                // SAFETY: without a join handle, the output belongs to the completing thread.
                unsafe { (header.vtable.drop_output)(task) };
            }
            // SAFETY: releases the scheduler's reference, which this value holds.
            unsafe { release(task) };
            return;
        }
        join_slot::wake(header);
        if header.state.release_after_wake() == WakerSlotOwner::Completer {
            join_slot::empty(header);
            // SAFETY: as above. `release_after_wake` kept the reference, since the waker was still
            // to be dropped.
            unsafe { release(task) };
        }
    }

    /// Completes the task like [`complete`](Self::complete), but keeps the scheduler's reference.
    ///
    /// For a task that is still to be removed from a list.
    pub fn complete_keeping_ref(self) -> CompletedTask {
        let header = self.header();
        let completed = header.state.complete(self.outcome);
        if completed.drop_output {
            // SAFETY: without a join handle, the output belongs to the completing thread.
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
        // SAFETY: the scheduler's reference keeps the task alive until it is released, and all uses
        // of the result come before that.
        unsafe { self.task.as_ref() }
    }
}

impl CompletedTask {
    /// Returns the pointer that a queue stores.
    pub fn into_raw(self) -> TaskRef {
        let task = self.0;
        mem::forget(self);
        task
    }

    /// Turns a stored pointer back into the reference.
    ///
    /// # Safety
    /// `task` must come from [`into_raw`](Self::into_raw), and be used once.
    pub unsafe fn from_raw(task: TaskRef) -> CompletedTask {
        CompletedTask(task)
    }

    /// Returns a pointer to the task.
    pub fn task(&self) -> TaskRef {
        self.0
    }
}

impl Drop for CompletedTask {
    fn drop(&mut self) {
        // SAFETY: releases the scheduler's reference, which this value holds.
        unsafe { release(self.0) };
    }
}

/// # Safety
/// The caller must hold the only reference. The task must have just ended with `outcome`, and not
/// be marked complete yet.
unsafe fn drop_output_and_free(task: TaskRef, outcome: Outcome) {
    // SAFETY: the caller's reference keeps the task alive until it is freed below.
    let header = unsafe { task.as_ref() };
    header.state.complete_sole(outcome);
    // SAFETY: no other thread can reach the output or the cell.
    unsafe {
        (header.vtable.drop_output)(task);
        (header.vtable.free)(task);
    }
}
