//! Histograms of durations.

use super::log_histogram::{LogHistogram, as_nanos};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Whether the buckets of a histogram have the same width, or grow.
///
/// ```
/// use std::time::Duration;
/// use wakeful::runtime::{Builder, HistogramScale};
///
/// # #[allow(deprecated)]
/// let runtime = Builder::new_current_thread()
///     .enable_metrics_poll_time_histogram()
///     .metrics_poll_count_histogram_scale(HistogramScale::Log)
///     .build()?;
/// assert_eq!(runtime.metrics().poll_time_histogram_num_buckets(), 10);
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistogramScale {
    /// All buckets have the same width.
    Linear,
    /// Each bucket is twice as wide as the one before.
    Log,
}

/// The buckets of a histogram.
///
/// ```
/// use std::time::Duration;
/// use wakeful::runtime::{Builder, HistogramConfiguration, LogHistogram};
///
/// let fine = HistogramConfiguration::linear(Duration::from_micros(10), 100);
/// let wide = HistogramConfiguration::log(LogHistogram::builder().max_error(0.1));
/// let runtime = Builder::new_current_thread()
///     .enable_metrics_poll_time_histogram()
///     .metrics_poll_time_histogram_configuration(fine)
///     .enable_metrics_schedule_latency_histogram()
///     .metrics_schedule_latency_histogram_configuration(wide)
///     .build()?;
/// runtime.block_on(runtime.spawn(async {})).unwrap();
///
/// let metrics = runtime.metrics();
/// let counts = (0..metrics.poll_time_histogram_num_buckets())
///     .map(|bucket| metrics.poll_time_histogram_bucket_count(0, bucket));
/// assert_eq!(counts.sum::<u64>(), 1); // polled once
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct HistogramConfiguration(Buckets);

#[derive(Debug, Clone, Copy)]
enum Buckets {
    Linear { buckets: usize, width_ns: u64 },
    Log(LogHistogram),
}

impl HistogramConfiguration {
    /// Creates buckets of the same width. The last one also holds everything above it.
    ///
    /// # Panics
    /// Panics if `bucket_width` or `num_buckets` is zero.
    #[track_caller]
    pub fn linear(bucket_width: Duration, num_buckets: usize) -> HistogramConfiguration {
        assert!(
            !bucket_width.is_zero() && num_buckets > 0,
            "`HistogramConfiguration::linear` called with a width of {bucket_width:?} and \
             {num_buckets} buckets; both must be above 0"
        );
        let width_ns = as_nanos(bucket_width);
        HistogramConfiguration(Buckets::Linear { buckets: num_buckets, width_ns })
    }

    /// Creates buckets that grow.
    #[track_caller]
    pub fn log(configuration: impl Into<LogHistogram>) -> HistogramConfiguration {
        HistogramConfiguration(Buckets::Log(configuration.into()))
    }
}

/// Ten buckets of 100 µs; the same as in Tokio.
impl Default for HistogramConfiguration {
    fn default() -> HistogramConfiguration {
        ScaledBuckets::default().configuration()
    }
}

/// The buckets as the deprecated methods of the builder describe them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScaledBuckets {
    pub(crate) scale: HistogramScale,
    pub(crate) resolution: Duration,
    pub(crate) buckets: usize,
}

impl Default for ScaledBuckets {
    fn default() -> ScaledBuckets {
        let resolution = Duration::from_micros(100);
        ScaledBuckets { scale: HistogramScale::Linear, resolution, buckets: 10 }
    }
}

impl ScaledBuckets {
    pub(crate) fn configuration(self) -> HistogramConfiguration {
        let ScaledBuckets { scale, resolution, buckets } = self;
        match scale {
            HistogramScale::Linear => HistogramConfiguration::linear(resolution, buckets),
            HistogramScale::Log => {
                HistogramConfiguration::log(LogHistogram::doubling(as_nanos(resolution), buckets))
            }
        }
    }
}

/// The number of durations in each bucket. Any thread may add some.
pub(crate) struct Histogram {
    counts: Box<[AtomicU64]>,
    buckets: Buckets,
}

impl Histogram {
    pub(super) fn new(configuration: &HistogramConfiguration) -> Histogram {
        let buckets = configuration.0;
        let len = match &buckets {
            Buckets::Linear { buckets, .. } => *buckets,
            Buckets::Log(log) => log.buckets(),
        };
        Histogram { counts: (0..len).map(|_| AtomicU64::new(0)).collect(), buckets }
    }

    pub(crate) fn add(&self, duration: Duration) {
        let nanos = as_nanos(duration);
        let bucket = match &self.buckets {
            Buckets::Linear { buckets, width_ns } => {
                usize::try_from(nanos / width_ns).unwrap_or(usize::MAX).min(buckets - 1)
            }
            Buckets::Log(log) => log.bucket_of(nanos),
        };
        self.counts[bucket].fetch_add(1, Relaxed);
    }

    pub(crate) fn len(&self) -> usize {
        self.counts.len()
    }

    #[track_caller]
    pub(crate) fn count(&self, bucket: usize) -> u64 {
        self.check(bucket);
        self.counts[bucket].load(Relaxed)
    }

    /// Returns the number of durations in all buckets.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().map(|count| count.load(Relaxed)).sum()
    }

    /// Returns the durations that `bucket` holds.
    #[track_caller]
    pub(crate) fn range(&self, bucket: usize) -> Range<Duration> {
        self.check(bucket);
        let range = match &self.buckets {
            Buckets::Linear { buckets, width_ns } => {
                let start_of = |bucket: usize| width_ns.saturating_mul(bucket as u64);
                let is_last = bucket == buckets - 1;
                start_of(bucket)..if is_last { u64::MAX } else { start_of(bucket + 1) }
            }
            Buckets::Log(log) => log.range(bucket),
        };
        Duration::from_nanos(range.start)..Duration::from_nanos(range.end)
    }

    #[track_caller]
    fn check(&self, bucket: usize) {
        let len = self.counts.len();
        assert!(
            bucket < len,
            "`RuntimeMetrics` method called for bucket {bucket} of a histogram that has {len}; \
             indices start at 0"
        );
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
