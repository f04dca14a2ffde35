//! Whether a thread waits in the driver, and whether a wake-up is pending.
//!
//! One thread at a time **waits**. Any other may **look** meanwhile: take the events that are there
//! without waiting for more. What ends a wait early, the notifier or a tick, is an event too, and
//! edge-triggered. A look may take it from the thread that waits, and then has to pass it on:
//!
//! ```text
//!   a thread that waits             a thread that wakes          a thread that looks
//!   begin_wait: set `waiting`       wake: set `woken`            takes the notifier's event
//!     `woken`? do not block           first? notify the kernel   pass_on: set `woken`
//!   waits in the kernel                                            `waiting`? notify the kernel
//!   end_wait: clear both
//! ```
//!
//! The first thread writes `waiting` and then reads `woken`. The third writes `woken` and then
//! reads `waiting` (all `SeqCst`). So either the thread that looks sees that another waits, or that
//! thread sees the wake-up before it blocks. Hence, while `woken` is set, one of these holds:
//!
//! - the thread that waits next will not block;
//! - the kernel has an event that ends the wait;
//! - some thread is about to notify the kernel, or about to end its wait.
//!
//! That is why a further call to `wake` need not notify the kernel again.
//!
//! A wake-up may also end a later wait, for nothing: a look may pass it on after `end_wait`, or the
//! notification may reach the kernel after it. The callers of a wait expect that.

use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::seq_cst_for_loom;

#[derive(Debug)]
pub(super) struct WakeState {
    /// A thread waits, or is about to. Written by that thread only.
    waiting: AtomicBool,
    /// A wake-up has not ended a wait yet.
    woken: AtomicBool,
}

impl WakeState {
    pub(super) fn new() -> WakeState {
        WakeState { waiting: AtomicBool::new(false), woken: AtomicBool::new(false) }
    }

    /// Begins a wait. Returns whether the thread may block: if not, it only takes the events.
    #[must_use]
    pub(super) fn begin_wait(&self) -> bool {
        debug_assert!(!self.is_waiting(), "one thread at a time waits in a driver");
        self.waiting.store(true, SeqCst);
        seq_cst_for_loom();
        !self.woken.load(SeqCst)
    }

    /// Ends a wait, or a look by the only thread that may wait. It answers all wake-ups so far.
    pub(super) fn end_wait(&self) {
        if self.is_waiting() {
            self.waiting.store(false, Relaxed);
        }
        self.take_wake_up();
    }

    /// Returns whether a thread waits, or is about to. It takes all events.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting.load(Relaxed)
    }

    /// Requests the end of the current wait or of the next one. Returns true if the caller has to
    /// notify the kernel.
    #[must_use]
    pub(super) fn wake(&self) -> bool {
        !self.woken.swap(true, SeqCst)
    }

    /// Passes on what was to end a wait, after a look has taken it. Returns true if the caller has
    /// to notify the kernel.
    #[must_use]
    pub(super) fn pass_on(&self) -> bool {
        // A store would cut off what an earlier call to `wake` has published.
        self.woken.swap(true, SeqCst);
        seq_cst_for_loom();
        self.waiting.load(SeqCst)
    }

    /// Clears the pending wake-up. Returns whether there was one.
    pub(super) fn take_wake_up(&self) -> bool {
        // A wake-up that the load misses is still pending, so the next wait does not block.
        self.woken.load(SeqCst) && self.woken.swap(false, SeqCst)
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "wake_state/tests/loom.rs"]
mod loom;
