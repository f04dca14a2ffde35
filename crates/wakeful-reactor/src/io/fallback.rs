//! Waiting without the kernel's events, for a driver whose descriptors do not work any more.
//!
//! ```text
//!   a wait or a wake-up fails ──begin──▶ waits end by `wake` or by their timeout, no more by events
//! ```
//!
//! The driver's `woken` flag says, as before, that a wake-up is under way which no wait has ended by
//! yet. A `wake` first sets it and then looks whether the fallback is in use; a waiter first begins
//! the fallback and then looks at the flag (all `SeqCst`). So either the waiter sees the flag, or the
//! `wake` comes for the lock, under which the waiter looks at the flag before it sleeps.

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

    /// From now on waits go here. True for the first call.
    pub(super) fn begin(&self) -> bool {
        let is_first = !self.is_used.swap(true, SeqCst);
        seq_cst_for_loom();
        is_first
    }

    /// Waits until `is_woken`, which is cleared, or until the end of `timeout`.
    pub(super) fn wait(&self, is_woken: &AtomicBool, timeout: Option<Duration>) {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut waits = self.waits.lock();
        while !is_woken.swap(false, SeqCst) {
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

    /// Has the thread that waits look at its flag.
    pub(super) fn wake(&self) {
        drop(self.waits.lock());
        self.woken.notify_all();
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "fallback/tests/loom.rs"]
mod loom;
