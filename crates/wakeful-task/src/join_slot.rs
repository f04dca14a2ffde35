//! The slot for the waker of the code that awaits a task.
//!
//! It is one word, where a waker takes two. A task is nearly always awaited by another task, whose
//! waker is determined by the pointer to the task. Any other waker is boxed, and the lowest bit of
//! the pointer tells the two apart.
//!
//! The state word tells which side owns the slot: the join handle while `JOIN_WAKER` is clear. Only
//! the owner may call `replace` and `empty`. While `JOIN_WAKER` is set, both sides may read the
//! slot, with `will_wake` and `wake`.

use crate::header::{Header, TaskRef};
use crate::waker::{WAKER, borrowed_waker, is_waker_of};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, Waker};
use wakeful_base::catch_panic::contain_panic;

const BOXED: usize = 1;

/// The contents of a filled slot.
enum Joiner<'a> {
    /// A task of this runtime; the slot owns a reference to it.
    Task(TaskRef),
    Other(&'a Waker),
}

fn pack(waker: Waker) -> NonNull<()> {
    let data = if ptr::eq(waker.vtable(), &WAKER) {
        ManuallyDrop::new(waker).data().cast_mut()
    } else {
        let boxed: *mut Waker = Box::into_raw(Box::new(waker));
        boxed.cast::<()>().map_addr(|addr| addr | BOXED)
    };
    NonNull::new(data).expect("neither a task nor a box is at address zero")
}

fn is_boxed(packed: NonNull<()>) -> bool {
    packed.addr().get() & BOXED != 0
}

fn boxed(packed: NonNull<()>) -> *mut Waker {
    packed.as_ptr().map_addr(|addr| addr & !BOXED).cast()
}

/// # Safety
/// `packed` must come from `pack`, and must not be used again.
unsafe fn unpack(packed: NonNull<()>) -> Waker {
    // SAFETY: the lowest bit tells what `pack` made the value from, and the caller passes the
    // ownership on.
    unsafe {
        if is_boxed(packed) {
            *Box::from_raw(boxed(packed))
        } else {
            Waker::from_raw(RawWaker::new(packed.as_ptr(), &WAKER))
        }
    }
}

/// Calls `f` with the contents of the slot, which the caller must be allowed to read.
fn peek<R>(header: &Header, f: impl FnOnce(Option<Joiner<'_>>) -> R) -> R {
    header.join_waker.with(|slot| {
        // SAFETY: the caller may read the slot, so no other thread writes it during this call.
        f(unsafe { *slot }.map(|packed| match is_boxed(packed) {
            // SAFETY: as above; the lowest bit says that it is a box.
            true => Joiner::Other(unsafe { &*boxed(packed) }),
            false => Joiner::Task(packed.cast()),
        }))
    })
}

/// Returns whether the slot holds a waker that wakes the same task as `waker`.
pub(crate) fn will_wake(header: &Header, waker: &Waker) -> bool {
    peek(header, |joiner| match joiner {
        Some(Joiner::Task(task)) => is_waker_of(waker, task),
        Some(Joiner::Other(other)) => other.will_wake(waker),
        None => false,
    })
}

/// Puts `waker` into the slot, and returns the previous waker.
pub(crate) fn replace(header: &Header, waker: Waker) -> Option<Waker> {
    let packed = pack(waker);
    // SAFETY: the caller owns the slot.
    let old = header.join_waker.with_mut(|slot| unsafe { (*slot).replace(packed) });
    // SAFETY: the value comes from `pack`, and is not in the slot any more.
    old.map(|old| unsafe { unpack(old) })
}

/// Wakes the waker in the slot, which must be filled. Does not unwind.
pub(crate) fn wake(header: &Header) {
    peek(header, |joiner| {
        contain_panic(|| match joiner {
            Some(Joiner::Task(task)) => borrowed_waker(task).wake_by_ref(),
            Some(Joiner::Other(other)) => other.wake_by_ref(),
            None => unreachable!("`JOIN_WAKER` is set only with the slot filled"),
        });
    });
}

/// Drops the waker in the slot, if any.
pub(crate) fn empty(header: &Header) {
    // SAFETY: the caller owns the slot. The waker's destructor runs after this access has ended.
    let old = header.join_waker.with_mut(|slot| unsafe { (*slot).take() });
    if let Some(old) = old {
        // SAFETY: the value comes from `pack`, and is not in the slot any more.
        contain_panic(|| drop(unsafe { unpack(old) }));
    }
}
