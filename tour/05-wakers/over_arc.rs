//! A waker whose data is an `Arc`.
//!
//! The rule for all four functions: **every waker owns one reference.**
//!
//! | function | comes with | leaves behind |
//! |---|---|---|
//! | `clone` | one waker | two: one reference more |
//! | `wake` | one waker | none: one reference less |
//! | `wake_by_ref` | one waker | the same one |
//! | `drop` | one waker | none: one reference less |
//!
//! `std::task::Wake` does just this for you. It is written out here to be seen.
//!
//! data 是一个 `Arc` 的 waker。四个函数的规矩只有一条：**每个 waker 拥有一个引用**（见上表）。`std::task::Wake`
//! 做的正是这些；这里写出来，是为了看清楚。

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{RawWaker, RawWakerVTable, Waker};

use crate::timeline::{Timeline, thread_name};

/// What is to be rung. In a runtime it would be the task, and to ring it would put it into a queue.
pub(super) struct Bell {
    name: &'static str,
    rings: AtomicUsize,
    timeline: Timeline,
}

impl Bell {
    pub(super) fn new(name: &'static str, timeline: &Timeline) -> Bell {
        Bell { name, rings: AtomicUsize::new(0), timeline: timeline.clone() }
    }

    fn ring(&self) {
        self.rings.fetch_add(1, Ordering::Relaxed);
        self.timeline.woken(self.name, &thread_name());
    }

    /// How often it has been rung.
    #[cfg(test)]
    pub(super) fn rings(&self) -> usize {
        self.rings.load(Ordering::Relaxed)
    }
}

/// A waker that rings `bell`, whose reference it takes over.
pub(super) fn waker(bell: Arc<Bell>) -> Waker {
    let raw = RawWaker::new(Arc::into_raw(bell).cast(), &VTABLE);
    // SAFETY: the functions in `VTABLE` do what the contract of `RawWakerVTable` asks for, with
    // data that comes from `Arc::into_raw`, as here. A `Bell` is `Send` and `Sync`, as wakers must
    // be.
    unsafe { Waker::from_raw(raw) }
}

pub(super) static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop);

/// # Safety
/// For all four: `data` is that of a waker from [`waker`] or of a clone of one, which owns a
/// reference. `wake` and `drop` take it.
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: `data` is from `Arc::into_raw`, and the waker that is being cloned keeps it alive.
    unsafe { Arc::increment_strong_count(data.cast::<Bell>()) };
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: `data` is from `Arc::into_raw`. The reference is the waker's, which ends with this
    // call, so it is ours to drop.
    let bell = unsafe { Arc::from_raw(data.cast::<Bell>()) };
    bell.ring();
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker that is being called has a reference, which outlives this call.
    let bell = unsafe { &*data.cast::<Bell>() };
    bell.ring();
}

unsafe fn drop(data: *const ()) {
    // SAFETY: as in `wake`.
    let bell = unsafe { Arc::from_raw(data.cast::<Bell>()) };
    std::mem::drop(bell);
}
