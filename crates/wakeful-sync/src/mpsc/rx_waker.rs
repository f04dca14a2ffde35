//! The receiver's waker: written by the receiver, taken by whoever has news for it.
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
//! Who moves the state away from IDLE has the waker to itself until it moves it back; nobody ever waits
//! for it. Each step is a read-modify-write, so that news made before a wake is seen after a
//! registration that the wake came too early for.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::task::Waker;

use wakeful_base::sync::atomic::AtomicUsize;
use wakeful_base::sync::{UnsafeCell, hint};

use crate::on_unwind::OnUnwind;

const IDLE: usize = 0;
const REGISTERING: usize = 1;
const WAKING: usize = 2;

pub(super) struct RxWaker {
    state: AtomicUsize,
    waker: UnsafeCell<Option<Waker>>,
}

// SAFETY: the waker is only touched by who moved the state away from IDLE.
unsafe impl Sync for RxWaker {}

impl RxWaker {
    pub(super) fn new() -> Self {
        RxWaker { state: AtomicUsize::new(IDLE), waker: UnsafeCell::new(None) }
    }

    /// Makes `waker` the one to be called. Only the receiver registers.
    pub(super) fn register(&self, waker: &Waker) {
        if self.state.compare_exchange(IDLE, REGISTERING, Acquire, Acquire).is_err() {
            // A wake is under way, for an older waker perhaps: there is news.
            waker.wake_by_ref();
            hint::spin_loop();
            return;
        }
        let clone_panics = OnUnwind(|| self.end_registration());
        let old = self.waker.with_mut(|place| {
            // SAFETY: the state is REGISTERING, which only we have set.
            let place = unsafe { &mut *place };
            match place {
                Some(same) if same.will_wake(waker) => None,
                _ => place.replace(waker.clone()),
            }
        });
        std::mem::forget(clone_panics);
        self.end_registration();
        drop(old);
    }

    fn end_registration(&self) {
        if self.state.compare_exchange(REGISTERING, IDLE, AcqRel, Acquire).is_ok() {
            return;
        }
        // SAFETY: the state is REGISTERING|WAKING: the wake that came has left the waker to us.
        let waker = self.waker.with_mut(|place| unsafe { (*place).take() });
        self.state.swap(IDLE, AcqRel);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Calls the waker, if there is one.
    pub(super) fn wake(&self) {
        if let Some(waker) = self.take() {
            waker.wake();
        }
    }

    /// Takes the waker, if there is one and nobody else is at it.
    pub(super) fn take(&self) -> Option<Waker> {
        if self.state.fetch_or(WAKING, AcqRel) != IDLE {
            return None;
        }
        // SAFETY: the state was IDLE and is WAKING, which only we have set.
        let waker = self.waker.with_mut(|place| unsafe { (*place).take() });
        self.state.fetch_and(!WAKING, Release);
        waker
    }
}
