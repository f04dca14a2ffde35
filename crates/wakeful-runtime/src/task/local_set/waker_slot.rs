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
//!
//! The clone and the drop of a waker are user code, which may call `arm` and `take`, and may panic.
//! So `arm` clones before (2) and drops after (1). In between it runs no user code.

use std::cell::Cell;
use std::ptr;
use std::task::{RawWakerVTable, Waker};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{UnsafeCell, seq_cst_for_loom};

const EMPTY: usize = 0;
const ARMED: usize = 1;
const TAKING: usize = 2;

pub(super) struct WakerSlot {
    state: AtomicUsize,
    waker: UnsafeCell<Option<Waker>>,
    /// The waker that was armed last, which may have been taken since.
    armed: Cell<Option<WakerId>>,
}

// SAFETY: a `Waker` is `Send` and `Sync`, and the state machine above gives one thread at a time
// access to the slot. `armed` is accessed by `arm` only, whose contract names one thread.
unsafe impl Send for WakerSlot {}
// SAFETY: as above.
unsafe impl Sync for WakerSlot {}

/// Two wakers with the same id, of which one is alive, wake the same task: see `Waker::will_wake`.
#[derive(Clone, Copy)]
struct WakerId {
    data: *const (),
    vtable: &'static RawWakerVTable,
}

impl WakerId {
    fn of(waker: &Waker) -> WakerId {
        WakerId { data: waker.data(), vtable: waker.vtable() }
    }

    fn is_of(self, waker: &Waker) -> bool {
        self.data == waker.data() && ptr::eq(self.vtable, waker.vtable())
    }
}

impl WakerSlot {
    pub(super) fn new() -> WakerSlot {
        WakerSlot {
            state: AtomicUsize::new(EMPTY),
            waker: UnsafeCell::new(None),
            armed: Cell::new(None),
        }
    }

    /// Stores `waker` in place of the previous one, for a poll that is about to begin. Runs user
    /// code (that of wakers). If the clone of `waker` panics, the previous one stays armed.
    ///
    /// No wake-up is lost if both sides use `SeqCst`: what a thread does before it calls `take` is
    /// visible to the poll after `arm`, or `waker` is woken (by that thread, by one that took the
    /// waker earlier, or by `arm`).
    ///
    /// # Safety
    /// All calls must be on the same thread.
    pub(super) unsafe fn arm(&self, waker: &Waker) {
        if self.state.load(SeqCst) == ARMED && self.armed.get().is_some_and(|id| id.is_of(waker)) {
            // Still armed with this waker. A thread that takes it from now on wakes this poller for
            // another poll, whose `arm` fills the slot again.
            seq_cst_for_loom();
            return;
        }
        let new = waker.clone();
        let state = match self.state.compare_exchange(ARMED, EMPTY, Acquire, Acquire) {
            Ok(_) => EMPTY,
            Err(other) => other,
        };
        if state == TAKING {
            // Another thread is taking the previous waker and is about to wake it. That wake-up may
            // be for work that this poll has to do, so this poller is woken as well.
            return new.wake();
        }
        self.armed.set(Some(WakerId::of(&new)));
        // SAFETY: the state is `EMPTY`, so the slot belongs to the arming thread, which is this one
        // by contract. No other call of `arm` on this thread's stack is at this point, since no
        // user code runs between the exchange above and the swap below. `Acquire` above orders this
        // access after that of the last taker.
        let old = self.waker.with_mut(|slot| unsafe { (*slot).replace(new) });
        self.state.swap(ARMED, SeqCst);
        seq_cst_for_loom();
        // A panic of the old waker's drop is contained: it does not concern this poll, which must
        // still see what was pushed while the state was `EMPTY`.
        if let Some(old) = old {
            contain_panic(|| drop(old));
        }
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
