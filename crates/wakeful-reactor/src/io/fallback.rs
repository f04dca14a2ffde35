//! Waiting without the kernel, for a driver whose own descriptors have stopped working.
//!
//! ```text
//!   a wait or a wake-up fails ──begin──▶ waits end by `wake` or their timeout, not by events
//! ```
//!
//! The driver's `woken` flag still says that a wake-up is pending that has not ended a wait yet
//! (`wake_state.rs`). A thread that wakes another, or passes a wake-up on, first sets the flag and
//! then checks whether the fallback is in use. A waiting thread first begins the fallback and then
//! checks the flag (all `SeqCst`). So either the waiting thread sees the flag, or the other one
//! takes the lock, under which the waiting thread checks the flag before it sleeps.

use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::{Condvar, Mutex, seq_cst_for_loom};

#[derive(Debug)]
pub(super) struct Fallback {
    is_used: AtomicBool,
    waits: Mutex<()>,
    woken: Condvar,
}

impl Fallback {
    pub(super) fn new() -> Fallback {
        Fallback { is_used: AtomicBool::new(false), waits: Mutex::new(()), woken: Condvar::new() }
    }

    #[inline]
    pub(super) fn is_used(&self) -> bool {
        seq_cst_for_loom();
        self.is_used.load(SeqCst)
    }

    /// Makes all further waits use the fallback. Returns true for the first call.
    pub(super) fn begin(&self) -> bool {
        let is_first = !self.is_used.swap(true, SeqCst);
        seq_cst_for_loom();
        is_first
    }

    /// Waits until `take_wake_up` returns true, or until `timeout` has elapsed.
    pub(super) fn wait(&self, take_wake_up: impl Fn() -> bool, timeout: Option<Duration>) {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut waits = self.waits.lock();
        while !take_wake_up() {
            waits = match deadline {
                None => self.woken.wait(waits),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return;
                    }
                    self.woken.wait_timeout(waits, left).0
                }
            };
        }
    }

    /// Makes the waiting thread check its flag.
    pub(super) fn wake(&self) {
        drop(self.waits.lock());
        self.woken.notify_all();
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "fallback/tests/loom.rs"]
mod loom;
