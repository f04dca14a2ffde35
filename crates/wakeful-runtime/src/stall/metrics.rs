//! The counters of a runtime's stalls.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// The counters of stalls, of hand-offs, and of the threads that hand-offs left behind.
#[derive(Default)]
pub(crate) struct StallMetrics {
    stalls: AtomicU64,
    longest_ns: AtomicU64,
    handoffs: AtomicU64,
    /// Threads whose lease was revoked and that are still in the same poll.
    held_threads: AtomicUsize,
    /// Polls that returned before they had lasted for `stall_after`, although their worker was
    /// handed off.
    false_alarms: AtomicU64,
}

impl StallMetrics {
    pub(crate) fn note_stall(&self) {
        self.stalls.fetch_add(1, Relaxed);
    }

    /// Notes that a stall has lasted for `duration` so far.
    pub(crate) fn note_duration(&self, duration: Duration) {
        self.longest_ns.fetch_max(duration.as_nanos() as u64, Relaxed);
    }

    /// Notes that the lease of a stuck thread was revoked.
    pub(crate) fn note_handoff(&self) {
        self.handoffs.fetch_add(1, Relaxed);
        self.held_threads.fetch_add(1, Relaxed);
    }

    /// Notes that a thread whose lease was revoked has returned from its poll, which lasted for
    /// `duration`.
    pub(crate) fn note_end(&self, duration: Duration, stall_after: Duration) {
        self.held_threads.fetch_sub(1, Relaxed);
        if duration < stall_after {
            self.false_alarms.fetch_add(1, Relaxed);
        } else {
            self.note_duration(duration);
        }
    }

    pub(crate) fn stalls(&self) -> u64 {
        self.stalls.load(Relaxed)
    }

    pub(crate) fn longest(&self) -> Duration {
        Duration::from_nanos(self.longest_ns.load(Relaxed))
    }

    pub(crate) fn handoffs(&self) -> u64 {
        self.handoffs.load(Relaxed)
    }

    pub(crate) fn held_threads(&self) -> usize {
        self.held_threads.load(Relaxed)
    }

    pub(crate) fn false_alarms(&self) -> u64 {
        self.false_alarms.load(Relaxed)
    }
}
