//! Puts the calling thread to sleep until somebody unparks it.
//!
//! One token: an unpark before the park makes the next park return at once, several unparks count as
//! one.
//!
//! ```text
//!   EMPTY ──(1) park: nothing pending──▶ PARKED ──(3) unpark: wakes the thread──▶ NOTIFIED
//!     ▲                                                                              │
//!     └──────────────────────────(2) park: takes the token───────────────────────────┘
//!   EMPTY ──(4) unpark: leaves the token, no system call──▶ NOTIFIED
//! ```
//!
//! The sleep itself is `std::thread::park`, whose own token user code may take or leave as it likes:
//! only our state word says whether a wake-up is due.

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

/// The sleeping side; belongs to the thread that made it.
#[derive(Debug)]
pub struct Parker {
    inner: Arc<ParkState>,
    // `park` sleeps on the thread that made the parker.
    _not_send: std::marker::PhantomData<*const ()>,
}

/// The waking side; may be cloned and sent anywhere.
#[derive(Debug, Clone)]
pub struct Unparker {
    inner: Arc<ParkState>,
}

impl Parker {
    /// A parker for the calling thread.
    pub fn new() -> Self {
        let inner = ParkState { state: AtomicUsize::new(EMPTY), thread: thread::current() };
        Parker { inner: Arc::new(inner), _not_send: std::marker::PhantomData }
    }

    /// The handle that wakes this parker.
    pub fn unparker(&self) -> Unparker {
        Unparker { inner: self.inner.clone() }
    }

    /// Sleeps until unparked.
    pub fn park(&self) {
        if self.take_token() {
            return;
        }
        if self.inner.state.compare_exchange(EMPTY, PARKED, AcqRel, Acquire).is_err() {
            let took = self.take_token();
            debug_assert!(took, "only a notification changes the state under a parker");
            return;
        }
        while !self.take_token() {
            thread::park();
        }
    }

    /// Sleeps until unparked or `timeout` has passed, whichever is first.
    pub fn park_timeout(&self, timeout: Duration) {
        if self.take_token() || timeout.is_zero() {
            return;
        }
        if self.inner.state.compare_exchange(EMPTY, PARKED, AcqRel, Acquire).is_err() {
            self.take_token();
            return;
        }
        // A deadline out of the clock's range is as good as none.
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
        // An unpark may have come in just now: its token is spent on this return.
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
    /// Wakes the parker, or lets its next park return at once.
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

// Loom has no time: a timeout may elapse at any moment, so it is modelled as elapsing at once.
#[cfg(wakeful_loom)]
fn park_thread_timeout(_timeout: Duration) {
    thread::yield_now();
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "parker/tests/loom.rs"]
mod loom;
