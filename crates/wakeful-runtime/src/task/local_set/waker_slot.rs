//! `WakerSlot`: holds the waker of the task that polls a `LocalSet`; any thread can take it.
//!
//! ```text
//!             (1) arm: the slot is filled
//!   EMPTY ─────────────────────────────────▶ ARMED
//!     ▲  ◀──(2) arm: takes the slot back────   │
//!     │                                        │ (3) take: one caller wins
//!     └───────(4) take: has the waker───── TAKING
//! ```
//!
//! The state decides which thread may access the slot: the arming thread while `EMPTY`, no thread
//! while `ARMED`, and the caller of `take` that won the exchange while `TAKING`. Since `take`
//! removes the waker, several wake-ups between two polls of the set wake its poller once.

use std::task::Waker;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{UnsafeCell, seq_cst_for_loom};

const EMPTY: usize = 0;
const ARMED: usize = 1;
const TAKING: usize = 2;

pub(super) struct WakerSlot {
    state: AtomicUsize,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: a `Waker` is `Send` and `Sync`, and the state machine above gives one thread at a time
// access to the slot.
unsafe impl Send for WakerSlot {}
// SAFETY: as above.
unsafe impl Sync for WakerSlot {}

impl WakerSlot {
    pub(super) fn new() -> WakerSlot {
        WakerSlot { state: AtomicUsize::new(EMPTY), waker: UnsafeCell::new(None) }
    }

    /// Stores `waker` in place of the previous one. Runs user code (that of wakers).
    ///
    /// If a `take` comes too early for this waker, and so returns `None` or an older waker, then
    /// everything that its thread did before is visible to the caller afterwards, provided that
    /// both sides use `SeqCst` for it.
    ///
    /// # Safety
    /// All calls must be on the same thread.
    pub(super) unsafe fn arm(&self, waker: &Waker) {
        let state = self.state.load(Acquire);
        if state == TAKING
            || (state == ARMED
                && self.state.compare_exchange(ARMED, EMPTY, Acquire, Relaxed).is_err())
        {
            // Another thread is taking the previous waker and is about to wake it. What it wakes it
            // for may be for this poll to do, so this poller is woken as well.
            waker.wake_by_ref();
            return;
        }
        // SAFETY: the state is `EMPTY`, so the slot belongs to the arming thread, which is this one
        // by contract. `Acquire` above orders this access after that of the last taker.
        let is_same = self
            .waker
            .with(|slot| unsafe { (*slot).as_ref().is_some_and(|set| set.will_wake(waker)) });
        let mut old = None;
        if !is_same {
            let new = waker.clone();
            // SAFETY: as above. If `clone` wakes a task of the set, `take` finds the state `EMPTY`
            // and does not access the slot.
            old = self.waker.with_mut(|slot| unsafe { (*slot).replace(new) });
        }
        self.state.swap(ARMED, SeqCst);
        seq_cst_for_loom();
        drop(old);
    }

    /// Takes the waker, for the caller to wake. Returns `None` if another thread has taken it.
    #[must_use]
    pub(super) fn take(&self) -> Option<Waker> {
        seq_cst_for_loom();
        if self.state.load(SeqCst) != ARMED
            || self.state.compare_exchange(ARMED, TAKING, SeqCst, SeqCst).is_err()
        {
            return None;
        }
        // SAFETY: the exchange from `ARMED` to `TAKING` gave the slot to this thread alone. It also
        // orders this access after the arming thread's, whose `swap` it reads.
        let waker = self.waker.with_mut(|slot| unsafe { (*slot).take() });
        self.state.store(EMPTY, Release);
        waker
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "waker_slot/tests/loom.rs"]
mod loom;
