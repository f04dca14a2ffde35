//! A task's waker: a counted reference that asks for a poll.

use crate::header::{Header, TaskRef, release};
use crate::state::WakeAction;

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

/// What makes a waker one of ours.
pub(crate) static WAKER: RawWakerVTable =
    RawWakerVTable::new(clone, wake_by_val, wake_by_ref, drop);

/// A waker that lives on the poller's claim instead of a reference of its own.
pub(crate) struct BorrowedWaker(ManuallyDrop<Waker>);

impl Deref for BorrowedWaker {
    type Target = Waker;

    fn deref(&self) -> &Waker {
        &self.0
    }
}

/// The waker for a poll of `task`, which must outlive it.
pub(crate) fn borrowed_waker(task: TaskRef) -> BorrowedWaker {
    // SAFETY: the functions keep `RawWakerVTable`'s contract; without a drop no reference is given up.
    BorrowedWaker(ManuallyDrop::new(unsafe { Waker::from_raw(raw(task)) }))
}

/// Whether `waker` wakes `task`.
pub fn is_waker_of(waker: &Waker, task: TaskRef) -> bool {
    ptr::eq(waker.vtable(), &WAKER) && ptr::eq(waker.data().cast(), task.as_ptr())
}

/// Whether all that `waker` does is to queue a task: it calls nobody else's code, and does not block.
#[inline]
pub fn only_queues(waker: &Waker) -> bool {
    // SAFETY: a waker of ours keeps its task alive.
    ptr::eq(waker.vtable(), &WAKER)
        && unsafe { !task_of(waker.data()).as_ref().vtable.calls_wakers }
}

/// Does what a transition that with_poll_requested for a poll says.
///
/// # Safety
/// `task` must be alive, and `todo` come from its state word.
pub(crate) unsafe fn perform(task: TaskRef, action: WakeAction) {
    // SAFETY: alive; for `Schedule` the entry is ours, for `Free` the last reference was.
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
/// `data` must be that of a waker of ours.
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
    // SAFETY: the waker's reference keeps the task alive up to the transition, which gives it up; after
    // that `follow` has the entry or the last reference to go by, or does nothing.
    unsafe {
        let task = task_of(data);
        match task.as_ref().state.wake_by_val() {
            WakeAction::Nothing => {}
            action => perform(task, action),
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker keeps the task alive.
    unsafe {
        let task = task_of(data);
        perform(task, task.as_ref().state.wake_by_ref());
    }
}

unsafe fn drop(data: *const ()) {
    // SAFETY: the waker's reference is given up.
    unsafe { release(task_of(data)) };
}
