//! What goes wrong when the four functions do not count right.
//!
//! To free memory twice on purpose would be no tour but an accident. So nothing is freed here: the
//! data of these wakers is a [`Ledger`], which keeps the count that an `Arc` would have, and says
//! at which call it would have been freed.
//!
//! 照着 `Arc` 的样子计数、却数错了的 waker。故意把内存释放两次，就不是导览，而是事故了。所以这里什
//! 么也不释放：这些 waker 的 data 是一本账 [`Ledger`]，记着 `Arc` 该有的计数，并指出在哪一次调用时
//! 内存本该被释放。

use std::sync::atomic::{AtomicIsize, Ordering};
use std::task::{RawWaker, RawWakerVTable, Waker};

use crate::timeline::Timeline;

/// Which function is wrong, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Mistake {
    None,
    CloneDoesNotCount,
    WakeKeeps,
    WakeByRefTakes,
    DropDoesNothing,
}

impl Mistake {
    pub(super) const ALL: [Mistake; 5] = [
        Mistake::None,
        Mistake::CloneDoesNotCount,
        Mistake::WakeKeeps,
        Mistake::WakeByRefTakes,
        Mistake::DropDoesNothing,
    ];

    pub(super) fn title(self) -> &'static str {
        match self {
            Mistake::None => "Counted right",
            Mistake::CloneDoesNotCount => "Wrong: clone forgets to count the new waker",
            Mistake::WakeKeeps => "Wrong: wake forgets that it uses its waker up",
            Mistake::WakeByRefTakes => {
                "Wrong: wake_by_ref drops a reference that is only lent to it"
            }
            Mistake::DropDoesNothing => "Wrong: drop does nothing",
        }
    }
}

/// A count of references, and a mistake in keeping it.
pub(super) struct Ledger {
    mistake: Mistake,
    references: AtomicIsize,
    timeline: Timeline,
}

impl Ledger {
    /// With the one reference that the first waker owns.
    pub(super) fn new(mistake: Mistake, timeline: &Timeline) -> Ledger {
        Ledger { mistake, references: AtomicIsize::new(1), timeline: timeline.clone() }
    }

    /// Books `change` for a call of `function`, and says what is wrong about it.
    fn book(&self, function: &str, change: isize) {
        let before = self.references.fetch_add(change, Ordering::Relaxed);
        let now = before + change;
        let remark = match now {
            _ if before <= 0 => "; USE AFTER FREE",
            0 => "; freed",
            _ => "",
        };
        self.timeline.note("ledger", format!("{function}, references: {now}{remark}"));
    }
}

/// The life of a waker: every function is called, and two wakers have come and gone at the end.
pub(super) fn live_and_die(ledger: &Ledger) {
    let data = std::ptr::from_ref(ledger).cast();
    // SAFETY: the functions of `VTABLE` only use the data as the `&Ledger` that it is. Both wakers
    // that are made here end here, before `ledger` does, and go to no other thread.
    let waker = unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) };
    let clone = waker.clone();
    clone.wake_by_ref();
    clone.wake();
    std::mem::drop(waker);

    let left = ledger.references.load(Ordering::Relaxed);
    let verdict = match left {
        0 => "no waker is left, and it was freed in time".to_owned(),
        1.. => format!("no waker is left, but the count is {left}: LEAKED"),
        _ => format!("the count is {left}: it was freed under a waker"),
    };
    ledger.timeline.note("ledger", verdict);
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop);

/// # Safety
/// `data` is a `&Ledger` that is valid for the call.
unsafe fn ledger<'l>(data: *const ()) -> &'l Ledger {
    // SAFETY: so the caller says.
    unsafe { &*data.cast() }
}

/// # Safety
/// For all four: `data` is that of a waker from [`live_and_die`], whose ledger outlives it.
unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: as above.
    let ledger = unsafe { ledger(data) };
    ledger.book("clone", if ledger.mistake == Mistake::CloneDoesNotCount { 0 } else { 1 });
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: as above.
    let ledger = unsafe { ledger(data) };
    ledger.book("wake", if ledger.mistake == Mistake::WakeKeeps { 0 } else { -1 });
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: as above.
    let ledger = unsafe { ledger(data) };
    ledger.book("wake_by_ref", if ledger.mistake == Mistake::WakeByRefTakes { -1 } else { 0 });
}

unsafe fn drop(data: *const ()) {
    // SAFETY: as above.
    let ledger = unsafe { ledger(data) };
    ledger.book("drop", if ledger.mistake == Mistake::DropDoesNothing { 0 } else { -1 });
}
