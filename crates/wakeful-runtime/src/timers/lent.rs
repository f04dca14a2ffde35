//! Timers of a worker that sleeps, served by the one in the driver.
//!
//! Where timers are dense the worker in the driver wakes up on every beat. Another that sleeps meanwhile
//! would wake for little: it **lends** its timers instead, and takes them back when it is up. The tasks they
//! wake run on the worker that serves them, and their next timers are armed there, so that soon it has them all.
//!
//! Who holds the lock is the owner of the timers for that long. Nothing is lent unnoticed: who lends says so to
//! the one in the driver (`Until::notify_driver`), and he who falls asleep there does not if somebody has lent
//! since he looked. Still he may be stuck, in a poll or in a waker. So their owner looks himself once the first has
//! been due for [`LATE_NS`], about when the monitor too would see that somebody is.

use super::with_time::{TimeHandle, WorkerTimers};
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;
use wakeful_base::sync::Mutex;

/// So late after its time a timer that is lent has not been served. (With 1 ms the owner's looks were a tenth of
/// what 10k sleepers cost.)
const LATE_NS: u64 = 3_000_000;

/// One seat's, lent or not.
pub(crate) struct LentTimers {
    timers: Mutex<Option<WorkerTimers>>,
    /// When to look; `u64::MAX` for never. Written under the lock.
    next_ns: AtomicU64,
}

impl LentTimers {
    pub(crate) fn new() -> LentTimers {
        LentTimers { timers: Mutex::new(None), next_ns: AtomicU64::new(u64::MAX) }
    }

    /// Others may serve `timers` until they are taken back.
    pub(crate) fn lend(&self, timers: WorkerTimers) {
        let mut lent = self.timers.lock();
        self.note_next(&timers);
        *lent = Some(timers);
    }

    /// The timers, if they are lent.
    pub(crate) fn take_back(&self) -> Option<WorkerTimers> {
        let mut lent = self.timers.lock();
        self.next_ns.store(u64::MAX, Relaxed);
        lent.take()
    }

    /// Calls `f` with the timers, if they are lent. No user code may run in it.
    pub(crate) fn with(&self, f: &mut dyn FnMut(&mut WorkerTimers)) {
        if let Some(timers) = &mut *self.timers.lock() {
            f(timers);
            self.note_next(timers);
        }
    }

    /// When somebody should look, if they are lent.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        let next_ns = self.next_ns.load(Relaxed);
        (next_ns != u64::MAX).then_some(next_ns)
    }

    /// Whether one of the timers is due.
    pub(crate) fn is_due(&self, time: &TimeHandle) -> bool {
        self.next_ns().is_some_and(|next_ns| next_ns <= time.clock.now_ns())
    }

    /// How long their owner may sleep before it has to look itself; none for as long as it likes.
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
