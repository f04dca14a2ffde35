//! A histogram of durations. Any thread may record to it or read it at any time.
//!
//! The width of a bucket is at most 1/32 of its value, from a microsecond to about a minute. Counts
//! only grow, so what was recorded between two moments is the difference of two readings
//! ([`Counts::since`]).

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Buckets per doubling. Below this number of microseconds, each has its own bucket.
const STEPS: usize = 32;
const STEPS_BITS: u32 = STEPS.trailing_zeros();
const DOUBLINGS: usize = 21;
const BUCKETS: usize = STEPS + DOUBLINGS * STEPS;

/// The buckets.
pub struct Histogram(Box<[AtomicU64]>);

/// The contents of the buckets at one moment, or what was recorded between two.
#[derive(Clone, Debug)]
pub struct Counts(Vec<u64>);

impl Histogram {
    pub fn new() -> Histogram {
        Histogram((0..BUCKETS).map(|_| AtomicU64::new(0)).collect())
    }

    pub fn record(&self, took: Duration) {
        self.0[bucket_of(took)].fetch_add(1, Relaxed);
    }

    pub fn look(&self) -> Counts {
        Counts(self.0.iter().map(|count| count.load(Relaxed)).collect())
    }
}

impl Counts {
    /// Returns what was recorded since `earlier`, an earlier reading of the same histogram.
    pub fn since(&self, earlier: &Counts) -> Counts {
        Counts(self.0.iter().zip(&earlier.0).map(|(now, then)| now - then).collect())
    }

    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns an upper bound of the duration below which `share` of all lie: the upper end of a
    /// bucket. `None` if there are none.
    pub fn quantile(&self, share: f64) -> Option<Duration> {
        let total = self.total();
        let rank = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut seen = 0;
        let bucket = self.0.iter().position(|count| {
            seen += count;
            seen >= rank
        });
        bucket.map(upper_end)
    }

    pub fn max(&self) -> Option<Duration> {
        self.quantile(1.0)
    }
}

fn bucket_of(took: Duration) -> usize {
    let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
    if us < STEPS as u64 {
        return us as usize;
    }
    // The leading bit selects the doubling, the next five bits the step.
    let doubling = us.ilog2() - STEPS_BITS;
    let step = (us >> doubling) as usize - STEPS;
    (STEPS + doubling as usize * STEPS + step).min(BUCKETS - 1)
}

fn upper_end(bucket: usize) -> Duration {
    let us = if bucket < STEPS {
        bucket as u64
    } else {
        let (doubling, step) = ((bucket - STEPS) / STEPS, (bucket - STEPS) % STEPS);
        (((STEPS + step + 1) as u64) << doubling) - 1
    };
    Duration::from_micros(us)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn every_value_lies_in_its_bucket_and_buckets_are_narrow() {
        for value in (0..5_000).chain((5_000..60_000_000).step_by(7_919)) {
            let end = upper_end(bucket_of(us(value))).as_micros() as u64;
            assert!(end >= value, "{value} is above its bucket's end, {end}");
            assert!(end - value <= value / STEPS as u64, "{value} is reported as {end}");
        }
    }

    #[test]
    fn very_long_durations_are_in_the_last_bucket() {
        let histogram = Histogram::new();
        histogram.record(Duration::from_secs(3_600));
        assert_eq!(histogram.look().max(), Some(upper_end(BUCKETS - 1)));
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let histogram = Histogram::new();
        for value in 1..=100 {
            histogram.record(us(value % 31));
        }
        let counts = histogram.look();
        let mut sorted: Vec<u64> = (1..=100).map(|value| value % 31).collect();
        sorted.sort_unstable();
        for (share, rank) in [(0.5, 50), (0.99, 99), (0.0, 1), (1.0, 100)] {
            assert_eq!(counts.quantile(share), Some(us(sorted[rank - 1])), "{share}");
        }
    }

    #[test]
    fn an_empty_histogram_has_no_quantiles() {
        let counts = Histogram::new().look();
        assert_eq!((counts.total(), counts.quantile(0.5), counts.max()), (0, None, None));
    }

    #[test]
    fn a_difference_has_only_what_was_recorded_between() {
        let histogram = Histogram::new();
        histogram.record(us(9));
        let before = histogram.look();
        histogram.record(us(3));
        histogram.record(us(4));
        let between = histogram.look().since(&before);
        assert_eq!((between.total(), between.max()), (2, Some(us(4))));
    }
}
