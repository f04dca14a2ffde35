//! The waker of whoever polls a `LocalSet`, for any thread to take.
//!
//! ```text
//!             (1) arm: the slot is filled
//!   EMPTY ─────────────────────────────────▶ ARMED
//!     ▲  ◀──(2) arm: takes the slot back────   │
//!     │                                        │ (3) take: one caller wins
//!     └───────(4) take: has the waker───── TAKING
//! ```
//!
//! The slot belongs to the arming side while `EMPTY`, to nobody while `ARMED`, and to the caller of
//! `take` that won while `TAKING`. A waker that was taken is gone from the slot: several calls between
//! two polls of the set wake its poller once.

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

// SAFETY: a `Waker` may be sent and shared; who may touch the slot is settled by the state.
unsafe impl Send for WakerSlot {}
// SAFETY: as above.
unsafe impl Sync for WakerSlot {}

impl WakerSlot {
    pub(super) fn new() -> WakerSlot {
        WakerSlot { state: AtomicUsize::new(EMPTY), waker: UnsafeCell::new(None) }
    }

    /// Leaves `waker` in the slot, in place of the one before. User code, that of wakers, runs in here.
    ///
    /// Whatever others did before a `take` that came too early for this waker, and so found nothing or
    /// an older one, is visible to the caller afterwards, if both sides use `SeqCst` for it.
    ///
    /// # Safety
    /// Only one thread may ever call it.
    pub(super) unsafe fn arm(&self, waker: &Waker) {
        let state = self.state.load(Acquire);
        if state == TAKING
            || (state == ARMED
                && self.state.compare_exchange(ARMED, EMPTY, Acquire, Relaxed).is_err())
        {
            // Somebody is about to wake the poller that was here before us, for something that we may
            // be the ones to do by now.
            waker.wake_by_ref();
            return;
        }
        // SAFETY: the slot is the arming side's now, which is this thread.
        let is_same = self
            .waker
            .with(|slot| unsafe { (*slot).as_ref().is_some_and(|set| set.will_wake(waker)) });
        let mut old = None;
        if !is_same {
            let new = waker.clone();
            // SAFETY: as above; a wake in the clone finds the slot `EMPTY` and leaves it alone.
            old = self.waker.with_mut(|slot| unsafe { (*slot).replace(new) });
        }
        self.state.swap(ARMED, SeqCst);
        seq_cst_for_loom();
        drop(old);
    }

    /// Takes the waker, for the caller to wake, unless another thread does so just now.
    #[must_use]
    pub(super) fn take(&self) -> Option<Waker> {
        seq_cst_for_loom();
        if self.state.load(SeqCst) != ARMED
            || self.state.compare_exchange(ARMED, TAKING, SeqCst, SeqCst).is_err()
        {
            return None;
        }
        // SAFETY: the exchange made the slot ours.
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
