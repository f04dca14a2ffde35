//! A task's waker: a counted reference that requests a poll.

use crate::header::{Header, TaskRef, release};
use crate::recording;
use crate::state::WakeAction;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};
use wakeful_base::ticks;
use wakeful_base::waiting::{self, WaitKind};

/// The vtable by which this crate recognizes its own wakers.
pub(crate) static WAKER: RawWakerVTable =
    RawWakerVTable::new(clone, wake_by_val, wake_by_ref, drop);

/// A waker that uses the poller's reference instead of counting its own.
pub(crate) struct BorrowedWaker(ManuallyDrop<Waker>);

impl Deref for BorrowedWaker {
    type Target = Waker;

    fn deref(&self) -> &Waker {
        &self.0
    }
}

/// Returns a waker for a poll of `task`, which must outlive it.
pub(crate) fn borrowed_waker(task: TaskRef) -> BorrowedWaker {
    // SAFETY: the functions keep the contract of `RawWakerVTable`. The waker is never dropped, so
    // the reference that it does not own is never released.
    BorrowedWaker(ManuallyDrop::new(unsafe { Waker::from_raw(raw(task)) }))
}

/// Returns whether `waker` wakes `task`.
pub fn is_waker_of(waker: &Waker, task: TaskRef) -> bool {
    ptr::eq(waker.vtable(), &WAKER) && ptr::eq(waker.data().cast(), task.as_ptr())
}

/// Returns whether waking `waker` only queues a task.
///
/// Such a waker runs no external code and does not block.
#[inline]
pub fn only_queues(waker: &Waker) -> bool {
    // SAFETY: a waker with this vtable keeps its task alive.
    ptr::eq(waker.vtable(), &WAKER)
        && unsafe { !task_of(waker.data()).as_ref().vtable.calls_wakers }
}

/// Performs the action that a transition of the state word asked for.
///
/// # Safety
/// `task` must be alive, and `action` must come from its state word.
pub(crate) unsafe fn perform(task: TaskRef, action: WakeAction) {
    // SAFETY: the task is alive by contract. `Schedule` gives us the queue entry, and `Free` says
    // that the last reference was released.
    unsafe {
        let vtable = task.as_ref().vtable;
        match action {
            WakeAction::Schedule => (vtable.schedule)(task),
            WakeAction::Nothing => {}
            WakeAction::Free => (vtable.free)(task),
        }
    }
}

fn raw(task: TaskRef) -> RawWaker {
    RawWaker::new(task.as_ptr().cast_const().cast(), &WAKER)
}

/// # Safety
/// `data` must be that of a waker of this crate.
unsafe fn task_of(data: *const ()) -> TaskRef {
    // SAFETY: `raw` made it from a `NonNull`.
    unsafe { NonNull::new_unchecked(data.cast::<Header>().cast_mut()) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker being cloned keeps the task alive.
    unsafe {
        let task = task_of(data);
        task.as_ref().state.retain();
        raw(task)
    }
}

unsafe fn wake_by_val(data: *const ()) {
    // SAFETY: the waker's reference keeps the task alive until the transition releases it. After
    // that, `perform` accesses the task only if the transition gave us its queue entry or said that
    // the last reference was released.
    unsafe {
        let task = task_of(data);
        let header = task.as_ref();
        match header.state.wake_by_val(|| note_wake(header)) {
            WakeAction::Nothing => {}
            action => perform(task, action),
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker keeps the task alive.
    unsafe {
        let task = task_of(data);
        let header = task.as_ref();
        perform(task, header.state.wake_by_ref(|| note_wake(header)));
    }
}

/// Records a wake-up, by the calling thread, that is about to happen.
#[cold]
fn note_wake(header: &Header) {
    let (Some(epoch), Some(record)) = (recording::epoch(), header.origin.record()) else { return };
    let (own, by) = (header.slot.id(), waiting::current_id());
    // A task that has yielded to the driver is woken from there, on its own account.
    let has_yielded =
        || by == 0 && header.slot.waits().is_some_and(|waits| waits.kind == WaitKind::Turn);
    let is_own = by == own || has_yielded();
    let by = if is_own { own } else { by };
    if record.note_wake(epoch, ticks::now(), by, is_own) {
        recording::add_wake(epoch);
    }
}

unsafe fn drop(data: *const ()) {
    // SAFETY: releases the waker's own reference, which is not used afterwards.
    unsafe { release(task_of(data)) };
}
