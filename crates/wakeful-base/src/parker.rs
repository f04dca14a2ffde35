//! Parks the calling thread until another thread unparks it.
//!
//! There is one token. An unpark before the park makes the next park return at once, and several
//! unparks count as one.
//!
//! ```text
//!   EMPTY ──(1) park: nothing pending──▶ PARKED ──(3) unpark: wakes the thread──▶ NOTIFIED
//!     ▲                                                                              │
//!     └──────────────────────────(2) park: takes the token───────────────────────────┘
//!   EMPTY ──(4) unpark: leaves the token, no system call──▶ NOTIFIED
//! ```
//!
//! The thread sleeps in `std::thread::park`, whose own token user code may set or consume at any
//! time. Only this module's state word therefore says whether the thread has been unparked.

use crate::sync::Arc;
use crate::sync::atomic::{AtomicUsize, Ordering::*};
use crate::sync::thread::{self, Thread};
use std::time::{Duration, Instant};

const EMPTY: usize = 0;
const PARKED: usize = 1;
const NOTIFIED: usize = 2;

#[derive(Debug)]
struct ParkState {
    state: AtomicUsize,
    thread: Thread,
}

/// The parking side. Belongs to the thread that created it.
#[derive(Debug)]
pub struct Parker {
    inner: Arc<ParkState>,
    // `park` parks the thread that created the parker.
    _not_send: std::marker::PhantomData<*const ()>,
}

/// The unparking side. It can be cloned and sent to any thread.
#[derive(Debug, Clone)]
pub struct Unparker {
    inner: Arc<ParkState>,
}

impl Parker {
    /// Creates a parker for the calling thread.
    pub fn new() -> Self {
        let inner = ParkState { state: AtomicUsize::new(EMPTY), thread: thread::current() };
        Parker { inner: Arc::new(inner), _not_send: std::marker::PhantomData }
    }

    /// Returns a handle that unparks this parker.
    pub fn unparker(&self) -> Unparker {
        Unparker { inner: self.inner.clone() }
    }

    /// Parks the thread until it is unparked.
    pub fn park(&self) {
        if self.take_token() {
            return;
        }
        if self.inner.state.compare_exchange(EMPTY, PARKED, AcqRel, Acquire).is_err() {
            let took = self.take_token();
            debug_assert!(
                took,
                "only an unpark changes the state of a thread that is about to park"
            );
            return;
        }
        while !self.take_token() {
            thread::park();
        }
    }

    /// Parks the thread until it is unparked or `timeout` has passed.
    pub fn park_timeout(&self, timeout: Duration) {
        if self.take_token() || timeout.is_zero() {
            return;
        }
        if self.inner.state.compare_exchange(EMPTY, PARKED, AcqRel, Acquire).is_err() {
            self.take_token();
            return;
        }
        // A deadline beyond the clock's range never comes.
        let deadline = Instant::now().checked_add(timeout);
        loop {
            match deadline {
                None => thread::park(),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break;
                    }
                    park_thread_timeout(left);
                }
            }
            if self.take_token() {
                return;
            }
        }
        // If an unpark came in just now, this return uses up its token.
        self.inner.state.swap(EMPTY, AcqRel);
    }

    fn take_token(&self) -> bool {
        self.inner.state.compare_exchange(NOTIFIED, EMPTY, Acquire, Relaxed).is_ok()
    }
}

impl Default for Parker {
    fn default() -> Self {
        Parker::new()
    }
}

impl Unparker {
    /// Unparks the thread, or makes its next park return at once.
    pub fn unpark(&self) {
        if self.inner.state.swap(NOTIFIED, AcqRel) == PARKED {
            self.inner.thread.unpark();
        }
    }
}

#[cfg(not(wakeful_loom))]
fn park_thread_timeout(timeout: Duration) {
    thread::park_timeout(timeout);
}

// Loom has no time. A timeout may elapse at any moment, so it is modelled as elapsing at once.
#[cfg(wakeful_loom)]
fn park_thread_timeout(_timeout: Duration) {
    thread::yield_now();
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "parker/tests/loom.rs"]
mod loom;
