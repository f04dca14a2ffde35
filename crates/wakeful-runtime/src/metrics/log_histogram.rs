//! The buckets of a logarithmic histogram.
//!
//! They are those of an H2 histogram: each power of two is divided into `2^p` buckets of equal
//! width, so a bucket is never wider than `2^-p` of the values in it. With `p = 2`:
//!
//! ```text
//!   value   0 1 2 3 4 5 6 7 8   10  12  14  16      20      24      28      32
//!   index   0 1 2 3 4 5 6 7  8   9  10  11     12      13      14      15
//! ```
//!
//! An index of this series is called raw. A histogram has a part of the series: its first bucket
//! holds all values below `min_value`, and its last one all values from `max_value` on.

use std::error::Error;
use std::fmt;
use std::ops::Range;
use std::time::Duration;

const MIN_VALUE_DEFAULT: Duration = Duration::from_nanos(100);
const MAX_VALUE_DEFAULT: Duration = Duration::from_secs(60);

/// Divides each power of two into four buckets: a bucket is at most 25 % wide.
const PRECISION_DEFAULT: u32 = 2;

/// Bounds the number of buckets: 1024 for each power of two.
const PRECISION_MAX: u32 = 10;

/// The buckets of a histogram whose buckets grow with the values in them.
///
/// Each bucket is at most a certain part of its values wide: a quarter by default. So short
/// durations are resolved as finely as long ones. [`builder`](Self::builder) chooses the range and
/// the precision.
///
/// ```
/// use std::time::Duration;
/// use wakeful::runtime::{Builder, HistogramConfiguration, LogHistogram};
///
/// let buckets = LogHistogram::builder()
///     .min_value(Duration::from_micros(20))
///     .max_value(Duration::from_millis(4))
///     .precision_exact(0) // each bucket is twice as wide as the one before
///     .build();
/// let runtime = Builder::new_current_thread()
///     .enable_metrics_poll_time_histogram()
///     .metrics_poll_time_histogram_configuration(HistogramConfiguration::log(buckets))
///     .build()?;
/// let metrics = runtime.metrics();
/// assert_eq!(metrics.poll_time_histogram_num_buckets(), 10);
/// assert_eq!(metrics.poll_time_histogram_bucket_range(0).end, Duration::from_nanos(16_384));
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogHistogram {
    /// At least 1.
    buckets: usize,
    precision: u32,
    /// The raw indices up to this one are bucket 0.
    raw_first: u64,
}

impl LogHistogram {
    /// Creates a builder.
    pub fn builder() -> LogHistogramBuilder {
        LogHistogramBuilder::default()
    }

    /// Returns buckets of which each is twice as wide as the one before, from `0..first_ns` on.
    pub(super) fn doubling(first_ns: u64, buckets: usize) -> LogHistogram {
        let raw_first = raw_index(first_ns.next_power_of_two(), 0) - 1;
        LogHistogram { buckets, precision: 0, raw_first }
    }

    /// Returns the value in nanoseconds from which on all values are in the last bucket.
    pub fn max_value(&self) -> u64 {
        self.range(self.buckets - 1).start
    }

    pub(super) fn buckets(&self) -> usize {
        self.buckets
    }

    /// Returns the bucket of a value in nanoseconds.
    #[inline]
    pub(super) fn bucket_of(&self, value: u64) -> usize {
        let bucket = raw_index(value, self.precision).saturating_sub(self.raw_first);
        (bucket as usize).min(self.buckets - 1)
    }

    pub(super) fn range(&self, bucket: usize) -> Range<u64> {
        let start_of = |bucket: usize| raw_start(bucket as u64 + self.raw_first, self.precision);
        let start = if bucket == 0 { 0 } else { start_of(bucket) };
        start..if bucket == self.buckets - 1 { u64::MAX } else { start_of(bucket + 1) }
    }
}

/// The same as [`LogHistogramBuilder::build`] without any settings.
impl Default for LogHistogram {
    fn default() -> LogHistogram {
        LogHistogramBuilder::default().build()
    }
}

impl From<LogHistogramBuilder> for LogHistogram {
    fn from(builder: LogHistogramBuilder) -> LogHistogram {
        builder.build()
    }
}

/// A builder of a [`LogHistogram`].
///
/// By default, the first bucket ends at 96 ns, the last one begins at 60.1 s, and no bucket in
/// between is wider than a quarter of its values. These are 119 buckets.
///
/// ```
/// use std::time::Duration;
/// use wakeful::runtime::{InvalidHistogramConfiguration::TooManyBuckets, LogHistogram};
///
/// let mut builder = LogHistogram::builder().max_value(Duration::from_secs(120)).max_error(0.1);
/// assert!(builder.max_buckets(1024).is_ok());
/// let TooManyBuckets { required_bucket_count } = builder.max_buckets(100).unwrap_err();
/// assert_eq!(required_bucket_count, 485);
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct LogHistogramBuilder {
    min_value: Option<Duration>,
    max_value: Option<Duration>,
    precision: Option<u32>,
}

impl LogHistogramBuilder {
    /// Sets how wide a bucket may be, as a part of the values in it. The default is 0.25.
    ///
    /// The width is rounded down to a negative power of two, between 2<sup>-2</sup> and
    /// 2<sup>-10</sup>.
    ///
    /// # Panics
    /// Panics unless `max_error` is above 0 and below 1.
    #[track_caller]
    pub fn max_error(self, max_error: f64) -> LogHistogramBuilder {
        assert!(
            max_error > 0.0 && max_error < 1.0,
            "`LogHistogramBuilder::max_error` called with {max_error}: max_error must be greater than \
             0 and less than 1, the width of a bucket relative to its values"
        );
        let is_enough = |precision: &u32| 1.0 / f64::from(1_u32 << precision) <= max_error;
        let precision = (PRECISION_DEFAULT..PRECISION_MAX).find(is_enough);
        LogHistogramBuilder { precision: Some(precision.unwrap_or(PRECISION_MAX)), ..self }
    }

    /// Sets the number of buckets for each power of two to `2^p`.
    ///
    /// With 0, each bucket is twice as wide as the one before.
    ///
    /// # Panics
    /// Panics if `p` is above 10.
    #[track_caller]
    pub fn precision_exact(self, p: u32) -> LogHistogramBuilder {
        assert!(
            p <= PRECISION_MAX,
            "`LogHistogramBuilder::precision_exact` called with {p}: precision must be <= \
             {PRECISION_MAX}"
        );
        LogHistogramBuilder { precision: Some(p), ..self }
    }

    /// Sets a duration that the first bucket ends at, or shortly before. The default is 100 ns.
    pub fn min_value(self, duration: Duration) -> LogHistogramBuilder {
        LogHistogramBuilder { min_value: Some(duration), ..self }
    }

    /// Sets a duration that the last bucket begins at, or shortly after. The default is 60 s.
    ///
    /// # Panics
    /// Panics if `duration` is zero.
    #[track_caller]
    pub fn max_value(self, duration: Duration) -> LogHistogramBuilder {
        assert!(
            !duration.is_zero(),
            "`LogHistogramBuilder::max_value` called with 0: max value must be greater than 0"
        );
        LogHistogramBuilder { max_value: Some(duration), ..self }
    }

    /// Builds the histogram if it has no more than `max_buckets` buckets.
    ///
    /// # Errors
    /// Returns the required number of buckets if it is higher.
    ///
    /// # Panics
    /// Panics as [`build`](Self::build) does.
    #[track_caller]
    pub fn max_buckets(
        &mut self,
        max_buckets: usize,
    ) -> Result<LogHistogram, InvalidHistogramConfiguration> {
        let histogram = self.build();
        if histogram.buckets > max_buckets {
            let required_bucket_count = histogram.buckets;
            return Err(InvalidHistogramConfiguration::TooManyBuckets { required_bucket_count });
        }
        Ok(histogram)
    }

    /// Builds the histogram.
    ///
    /// # Panics
    /// Panics if [`min_value`](Self::min_value) is above [`max_value`](Self::max_value).
    #[track_caller]
    pub fn build(&self) -> LogHistogram {
        let min = self.min_value.unwrap_or(MIN_VALUE_DEFAULT);
        let max = self.max_value.unwrap_or(MAX_VALUE_DEFAULT);
        assert!(
            min <= max,
            "`LogHistogramBuilder::build` called with a `min_value` of {min:?} above the `max_value` \
             of {max:?}; set both"
        );
        let precision = self.precision.unwrap_or(PRECISION_DEFAULT);
        let (min_ns, max_ns) = (as_nanos(min), as_nanos(max));
        // The bucket before that of `min` is the first one, so `min` is resolved as asked.
        let raw_first = raw_index(min_ns, precision).saturating_sub(1);
        // The last bucket is the first one that holds no value below `max`.
        let raw_last = raw_index(max_ns - 1, precision) + 1;
        LogHistogram { buckets: (raw_last - raw_first + 1) as usize, precision, raw_first }
    }
}

/// The error of [`LogHistogramBuilder::max_buckets`].
///
/// ```
/// use wakeful::runtime::{InvalidHistogramConfiguration, LogHistogram};
///
/// let error: InvalidHistogramConfiguration =
///     LogHistogram::builder().max_error(0.1).max_buckets(100).unwrap_err();
/// assert!(error.to_string().contains("buckets"));
/// ```
#[derive(Debug)]
pub enum InvalidHistogramConfiguration {
    /// The histogram requires more buckets than allowed.
    TooManyBuckets {
        /// The number of buckets that it requires.
        required_bucket_count: usize,
    },
}

impl fmt::Display for InvalidHistogramConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InvalidHistogramConfiguration::TooManyBuckets { required_bucket_count } = self;
        write!(
            f,
            "the histogram requires {required_bucket_count} buckets, more than `max_buckets` allows; \
             raise `max_error` or `min_value`"
        )
    }
}

impl Error for InvalidHistogramConfiguration {}

/// Returns the number of nanoseconds, or the highest number for more than 584 years.
pub(super) fn as_nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the raw index of a value: its highest `p + 1` bits, and how many bits follow these.
#[inline]
fn raw_index(value: u64, p: u32) -> u64 {
    let shift = value.checked_ilog2().map_or(0, |highest| highest.saturating_sub(p));
    (u64::from(shift) << p) + (value >> shift)
}

/// Returns the lowest value with this raw index. If there is none, returns the highest number.
fn raw_start(index: u64, p: u32) -> u64 {
    let shift = (index >> p).saturating_sub(1);
    let bits = u128::from(index - (shift << p));
    let start = if shift < 64 { bits << shift } else { u128::MAX };
    u64::try_from(start).unwrap_or(u64::MAX)
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
