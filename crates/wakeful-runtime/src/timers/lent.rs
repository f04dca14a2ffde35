//! Timers of a worker that parks outside the driver, served by the worker inside.
//!
//! Where timers are dense, the worker in the driver wakes up at every tick. Another worker that
//! parks meanwhile **lends** its timers, because waking up for its own few would cost more than
//! firing them. It takes them back when it unparks. The tasks woken by those timers run on the
//! worker that serves them and arm their next timers there, so after a while that worker has them
//! all.
//!
//! The thread that holds the lock owns the timers meanwhile. No lend goes unnoticed: the lender
//! notifies the worker in the driver (`Until::notify_driver`), and a worker that is about to wait
//! there does not if timers were lent since it computed its timeout. The worker in the driver may
//! get stuck in a poll or in a waker, however. So the lender serves its timers itself if the first
//! is late by [`LATE_NS`], which is about the time after which the monitor sees a stall.

use super::with_time::{TimeHandle, WorkerTimers};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;
use wakeful_base::sync::Mutex;

/// How late a lent timer may be before its owner serves it.
///
/// Well above the ticks of coalesced timers, so that owners rarely wake up to check; see
/// bench/NOTES.md: lent timers.
const LATE_NS: u64 = 3_000_000;

/// A worker's timers while they are lent.
pub(crate) struct LentTimers {
    timers: Mutex<Option<WorkerTimers>>,
    /// The first deadline; `u64::MAX` if there is none, or nothing is lent. Written under the lock.
    next_ns: AtomicU64,
}

impl LentTimers {
    pub(crate) fn new() -> LentTimers {
        LentTimers { timers: Mutex::new(None), next_ns: AtomicU64::new(u64::MAX) }
    }

    /// Lends `timers`: other threads may serve them until they are taken back.
    pub(crate) fn lend(&self, timers: WorkerTimers) {
        let mut lent = self.timers.lock();
        self.note_next(&timers);
        *lent = Some(timers);
    }

    /// Takes the timers back. `None` if they are not lent.
    pub(crate) fn take_back(&self) -> Option<WorkerTimers> {
        let mut lent = self.timers.lock();
        self.next_ns.store(u64::MAX, Relaxed);
        lent.take()
    }

    /// Calls `f` with the timers, if they are lent. `f` must not run user code: the lock is held.
    pub(crate) fn with(&self, f: &mut dyn FnMut(&mut WorkerTimers)) {
        if let Some(timers) = &mut *self.timers.lock() {
            f(timers);
            self.note_next(timers);
        }
    }

    /// Returns the first deadline of the lent timers.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let next_ns = self.next_ns.load(Relaxed);
        (next_ns != u64::MAX).then_some(next_ns)
    }

    /// Returns whether one of the lent timers is due.
    pub(crate) fn is_due(&self, time: &TimeHandle) -> bool {
        self.next_ns().is_some_and(|next_ns| next_ns <= time.clock.now_ns())
    }

    /// Returns how long the owner may park before it has to serve the timers itself. `None` if
    /// there is no limit.
    pub(crate) fn until_late(&self, time: &TimeHandle) -> Option<Duration> {
        let late_ns = self.next_ns()?.saturating_add(LATE_NS);
        time.clock.time_until(late_ns)
    }

    fn note_next(&self, timers: &WorkerTimers) {
        self.next_ns.store(timers.next_ns().unwrap_or(u64::MAX), Relaxed);
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
