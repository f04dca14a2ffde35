//! The place where who joins a task leaves its waker.
//!
//! One word instead of a waker's two: who joins a task is nearly always another task, whose waker is
//! known by the task alone. Any other waker is boxed, and the pointer marked by its lowest bit.
//!
//! Whose the slot is, the state word says: the join handle's while `JOIN_WAKER` is clear. Each function
//! here asks the caller to have that right.

use crate::header::{Header, TaskRef};
use crate::waker::{WAKER, borrowed_waker, is_waker_of};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, Waker};
use wakeful_base::catch_panic::contain_panic;

const BOXED: usize = 1;

/// What a filled slot holds.
enum Joiner<'a> {
    /// A task of ours, of which the slot owns a reference.
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
/// `packed` must come from `pack`, and is used up.
unsafe fn unpack(packed: NonNull<()>) -> Waker {
    // SAFETY: the mark tells which of the two `pack` made it from.
    unsafe {
        if is_boxed(packed) {
            *Box::from_raw(boxed(packed))
        } else {
            Waker::from_raw(RawWaker::new(packed.as_ptr(), &WAKER))
        }
    }
}

/// Calls `f` with what is in the slot, which must be the caller's to read.
fn peek<R>(header: &Header, f: impl FnOnce(Option<Joiner<'_>>) -> R) -> R {
    header.join_waker.with(|slot| {
        // SAFETY: the slot is the caller's to read, so that nobody takes the waker meanwhile.
        f(unsafe { *slot }.map(|packed| match is_boxed(packed) {
            // SAFETY: as above; the mark says that it is a box.
            true => Joiner::Other(unsafe { &*boxed(packed) }),
            false => Joiner::Task(packed.cast()),
        }))
    })
}

/// Whether the slot holds a waker that does what `waker` does.
pub(crate) fn will_wake(header: &Header, waker: &Waker) -> bool {
    peek(header, |joiner| match joiner {
        Some(Joiner::Task(task)) => is_waker_of(waker, task),
        Some(Joiner::Other(other)) => other.will_wake(waker),
        None => false,
    })
}

/// Puts `waker` into the slot, and returns what was there.
pub(crate) fn replace(header: &Header, waker: Waker) -> Option<Waker> {
    let packed = pack(waker);
    // SAFETY: the slot is the caller's.
    let old = header.join_waker.with_mut(|slot| unsafe { (*slot).replace(packed) });
    // SAFETY: it came from `pack`, and has left the slot.
    old.map(|old| unsafe { unpack(old) })
}

/// Wakes the task or thread that joins. The slot must be filled. Does not unwind.
pub(crate) fn wake(header: &Header) {
    peek(header, |joiner| {
        contain_panic(|| match joiner {
            Some(Joiner::Task(task)) => borrowed_waker(task).wake_by_ref(),
            Some(Joiner::Other(other)) => other.wake_by_ref(),
            None => unreachable!("`JOIN_WAKER` is set only with the slot filled"),
        });
    });
}

/// Empties the slot.
pub(crate) fn empty(header: &Header) {
    // SAFETY: the slot is the caller's; the waker's own drop runs after the access has ended.
    let old = header.join_waker.with_mut(|slot| unsafe { (*slot).take() });
    if let Some(old) = old {
        // SAFETY: it came from `pack`, and has left the slot.
        contain_panic(|| drop(unsafe { unpack(old) }));
    }
}
