//! What is counted of stalls.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// What became of polls that stood still.
#[derive(Default)]
pub(crate) struct StallMetrics {
    stalls: AtomicU64,
    longest_ns: AtomicU64,
    handoffs: AtomicU64,
    /// Threads that lost their seat and are still in that poll.
    held_threads: AtomicUsize,
    /// Polls that would have returned in time.
    false_alarms: AtomicU64,
}

impl StallMetrics {
    pub(crate) fn note_stall(&self) {
        self.stalls.fetch_add(1, Relaxed);
    }

    /// A stall has lasted for so long by now.
    pub(crate) fn note_duration(&self, duration: Duration) {
        self.longest_ns.fetch_max(duration.as_nanos() as u64, Relaxed);
    }

    /// A seat was taken from a thread that is stuck.
    pub(crate) fn note_handoff(&self) {
        self.handoffs.fetch_add(1, Relaxed);
        self.held_threads.fetch_add(1, Relaxed);
    }

    /// A thread is back that lost its seat; its poll lasted for `duration`, of which `stall_after` would
    /// have been no stall.
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
