//! How long a poll of the tasks in a worker's queue takes.
//!
//! The estimate follows the median of sampled polls, so that a task that spawns for a millisecond
//! does not make all tasks look long. Only tasks from the queue count, since only those can be
//! stolen: the tasks in the LIFO slot are often of another kind. A worker that steals takes the
//! victim's estimate along, and passes its first sample back: the victim may be in a long poll, and
//! learn nothing meanwhile.

use crate::wake_cost;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The busy time between two samples, each of which reads the clock twice. Bounds the cost of
/// sampling to about 1 %.
const SAMPLE_INTERVAL_NS: u64 = 5_000;

/// Bounds the number of polls between two samples, whatever the estimate.
const POLLS_PER_SAMPLE_MAX: u64 = 64;

/// An estimate that the queue's owner and thieves read and write, without order: a lost sample does
/// no harm. Zero before the first sample. Std's type even under loom, since no memory is published
/// through it.
pub(super) struct PollEstimate(AtomicU64);

impl PollEstimate {
    pub(super) fn new() -> PollEstimate {
        PollEstimate(AtomicU64::new(0))
    }

    /// Returns how long a poll is expected to take; zero if nothing is known.
    #[inline]
    pub(super) fn ns(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Adds a sample: the estimate moves towards it, by a quarter at most.
    pub(super) fn add(&self, took: Duration) {
        // Loom models have no time, and need the same decisions in each run.
        if cfg!(wakeful_loom) {
            return;
        }
        // Zero means that nothing is known. The estimate is compared with the cost of a wake-up, so
        // that polls longer than the longest wake-up are all alike.
        let took_ns = (took.as_nanos() as u64).clamp(1, wake_cost::MAX_NS);
        let ns = match self.ns() {
            0 => took_ns,
            before if took_ns > before => (before + before.div_ceil(4)).min(took_ns),
            before => (before - before / 4).max(took_ns),
        };
        self.0.store(ns, Relaxed);
    }

    /// Returns how many polls lie between this sample and the next.
    pub(super) fn sample_interval(&self) -> u32 {
        (SAMPLE_INTERVAL_NS / self.ns().max(1)).clamp(1, POLLS_PER_SAMPLE_MAX) as u32
    }

    /// Takes over the estimate of another queue, along with some of its tasks.
    pub(super) fn copy_from(&self, other: &PollEstimate) {
        self.0.store(other.ns(), Relaxed);
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    fn add_all(estimate: &PollEstimate, samples_ns: impl IntoIterator<Item = u64>) {
        for ns in samples_ns {
            estimate.add(Duration::from_nanos(ns));
        }
    }

    #[test]
    fn the_first_sample_is_the_estimate() {
        let estimate = PollEstimate::new();
        assert_eq!(estimate.ns(), 0);
        add_all(&estimate, [7_000]);
        assert_eq!(estimate.ns(), 7_000);
    }

    #[test]
    fn a_few_long_polls_among_short_ones_change_little() {
        let estimate = PollEstimate::new();
        add_all(&estimate, (0..1_000).map(|i| if i % 8 == 0 { 500_000 } else { 200 }));
        assert!(estimate.ns() < 400, "{}", estimate.ns());
    }

    #[test]
    fn polls_that_have_become_long_are_noticed_soon() {
        let estimate = PollEstimate::new();
        add_all(&estimate, [200; 100]);
        assert_eq!(estimate.sample_interval(), 25);
        add_all(&estimate, [50_000; 20]);
        assert!(estimate.ns() > 10_000, "{}", estimate.ns());
        assert_eq!(estimate.sample_interval(), 1);
        add_all(&estimate, [0; 100]);
        assert!(estimate.ns() < 5, "{}", estimate.ns());
    }
}
