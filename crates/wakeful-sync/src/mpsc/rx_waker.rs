//! The receiver's waker: the receiver registers it, and any thread may take and wake it.
//!
//! ```text
//!         (1) register                  (2) done
//!   IDLE ──────────────▶ REGISTERING ─────────────▶ IDLE
//!    │  ▲                     │ (3) wake comes in between
//!    │  │ (4) wake: done      ▼
//!    │  └──────────────  REGISTERING|WAKING ──(5) done: the receiver wakes itself──▶ IDLE
//!    └──(3) wake──▶ WAKING ──(4)──▶ IDLE
//! ```
//!
//! The thread that moves the state away from IDLE has exclusive access to the waker until it moves
//! the state back. No thread ever waits for that: a `wake` during a registration leaves the wake-up
//! to the receiver, and a registration during a `wake` wakes the new waker at once.
//!
//! Each step is a read-modify-write, so a lost wake-up is impossible: a change that a thread made
//! before its `wake` is visible to the receiver after any registration that came too late for this
//! `wake`.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::task::Waker;

use wakeful_base::on_unwind::{OnUnwind, hold_during};
use wakeful_base::sync::atomic::{AtomicU64, AtomicUsize};
use wakeful_base::sync::{UnsafeCell, hint};
use wakeful_base::waiting::current_id;

const IDLE: usize = 0;
const REGISTERING: usize = 1;
const WAKING: usize = 2;

pub(super) struct RxWaker {
    state: AtomicUsize,
    waker: UnsafeCell<Option<Waker>>,
    /// The id of the task that waited last. Written by the receiver, next to its waker.
    waiter: AtomicU64,
}

// SAFETY: only the thread that moved `state` away from IDLE touches the waker, and only until it
// moves `state` back. `Waker` is `Send` and `Sync`.
unsafe impl Sync for RxWaker {}

impl RxWaker {
    pub(super) fn new() -> Self {
        RxWaker {
            state: AtomicUsize::new(IDLE),
            waker: UnsafeCell::new(None),
            waiter: AtomicU64::new(0),
        }
    }

    /// Notes that what this thread polls waits for the channel.
    #[inline]
    pub(super) fn note_waiter(&self) {
        self.waiter.store(current_id(), Relaxed);
    }

    /// Returns the id of the task that waited for the channel last.
    pub(super) fn last_waiter(&self) -> Option<u64> {
        let id = self.waiter.load(Relaxed);
        (id != 0).then_some(id)
    }

    /// Makes `waker` the one that the next `wake` calls. Only the receiver calls this.
    pub(super) fn register(&self, waker: &Waker) {
        if self.state.compare_exchange(IDLE, REGISTERING, Acquire, Acquire).is_err() {
            // A `wake` is in progress, perhaps for an older waker. The receiver has to look again.
            waker.wake_by_ref();
            hint::spin_loop();
            return;
        }
        let clone_panics = OnUnwind(|| self.end_registration());
        let old = self.waker.with_mut(|place| {
            // SAFETY: this call has moved the state from IDLE to REGISTERING. Only the receiver
            // does that, and no `take` touches the waker while the state is not IDLE.
            let place = unsafe { &mut *place };
            match place {
                Some(same) if same.will_wake(waker) => None,
                _ => place.replace(waker.clone()),
            }
        });
        std::mem::forget(clone_panics);
        drop(hold_during(old, |_| self.end_registration()));
    }

    fn end_registration(&self) {
        if self.state.compare_exchange(REGISTERING, IDLE, AcqRel, Acquire).is_ok() {
            return;
        }
        // SAFETY: the state is REGISTERING|WAKING. The `take` that set WAKING found the state not
        // IDLE and left the waker alone, as does every other until the swap below.
        let waker = self.waker.with_mut(|place| unsafe { (*place).take() });
        self.state.swap(IDLE, AcqRel);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Wakes the receiver, if it has registered a waker.
    pub(super) fn wake(&self) {
        if let Some(waker) = self.take() {
            waker.wake();
        }
    }

    /// Takes the waker, if there is one and no other thread is using it.
    ///
    /// If another thread is using it, that thread wakes the receiver, or the receiver wakes itself.
    pub(super) fn take(&self) -> Option<Waker> {
        if self.state.fetch_or(WAKING, AcqRel) != IDLE {
            return None;
        }
        // SAFETY: this call has moved the state from IDLE to WAKING. Until it clears WAKING, other
        // calls of `take` and `register` find the state not IDLE and leave the waker alone.
        let waker = self.waker.with_mut(|place| unsafe { (*place).take() });
        self.state.fetch_and(!WAKING, Release);
        waker
    }
}
