//! The part of `RuntimeMetrics` that is about histograms and the I/O driver.

use super::RuntimeMetrics;
use crate::metrics::Histogram;
use std::ops::Range;
use std::time::Duration;

/// Histograms. Those that are not enabled have no buckets, and their counts are zero.
impl RuntimeMetrics {
    /// Returns whether the histogram of poll times is
    /// [enabled](super::Builder::enable_metrics_poll_time_histogram).
    pub fn poll_time_histogram_enabled(&self) -> bool {
        self.poll_times(0).is_some()
    }

    /// Returns the number of buckets of the histogram of poll times.
    pub fn poll_time_histogram_num_buckets(&self) -> usize {
        self.poll_times(0).map_or(0, Histogram::len)
    }

    /// Returns the poll times that `bucket` counts.
    ///
    /// The last bucket ends at `u64::MAX` nanoseconds.
    ///
    /// # Panics
    /// Panics if the histogram is enabled and there is no such bucket.
    #[track_caller]
    pub fn poll_time_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.poll_times(0).map_or(Range::default(), |histogram| histogram.range(bucket))
    }

    /// Returns the number of polls by `worker` that took a time in the range of `bucket`.
    ///
    /// A poll is counted when it returns. The counts of all buckets add up to
    /// [`worker_poll_count`](Self::worker_poll_count).
    ///
    /// # Panics
    /// Panics if there is no such worker, or if the histogram is enabled and there is no such
    /// bucket.
    #[track_caller]
    pub fn poll_time_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.poll_times(worker).map_or(0, |histogram| histogram.count(bucket))
    }

    /// Returns whether the histogram of schedule latencies is
    /// [enabled](super::Builder::enable_metrics_schedule_latency_histogram).
    pub fn schedule_latency_histogram_enabled(&self) -> bool {
        self.schedule_latencies(0).is_some()
    }

    /// Returns the number of buckets of the histogram of schedule latencies.
    pub fn schedule_latency_histogram_num_buckets(&self) -> usize {
        self.schedule_latencies(0).map_or(0, Histogram::len)
    }

    /// Returns the schedule latencies that `bucket` counts.
    ///
    /// The last bucket ends at `u64::MAX` nanoseconds.
    ///
    /// # Panics
    /// Panics if the histogram is enabled and there is no such bucket.
    #[track_caller]
    pub fn schedule_latency_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.schedule_latencies(0).map_or(Range::default(), |histogram| histogram.range(bucket))
    }

    /// Returns how often `worker` polled a task that was scheduled for a time in the range of
    /// `bucket`.
    ///
    /// # Panics
    /// Panics if there is no such worker, or if the histogram is enabled and there is no such
    /// bucket.
    #[track_caller]
    pub fn schedule_latency_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.schedule_latencies(worker).map_or(0, |histogram| histogram.count(bucket))
    }

    #[track_caller]
    fn poll_times(&self, worker: usize) -> Option<&Histogram> {
        self.worker(worker).poll_times.as_ref()
    }

    #[track_caller]
    fn schedule_latencies(&self, worker: usize) -> Option<&Histogram> {
        self.worker(worker).schedule_latencies.as_ref()
    }
}

/// The I/O driver. Without [I/O](super::Builder::enable_io), all counts are zero.
impl RuntimeMetrics {
    /// Returns the number of file descriptors ever registered with the I/O driver.
    ///
    /// ```
    /// use wakeful::{net::UdpSocket, runtime::Builder};
    ///
    /// let runtime = Builder::new_current_thread().enable_io().build()?;
    /// let metrics = runtime.metrics();
    /// let counts =
    ///     || (metrics.io_driver_fd_registered_count(), metrics.io_driver_fd_deregistered_count());
    /// let socket = runtime.block_on(UdpSocket::bind("127.0.0.1:0"))?;
    /// assert_eq!(counts(), (1, 0));
    /// drop(socket);
    /// assert_eq!(counts(), (1, 1));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn io_driver_fd_registered_count(&self) -> u64 {
        self.handle.scheduler.info().io.counts().registered
    }

    /// Returns the number of file descriptors that were deregistered from the I/O driver.
    pub fn io_driver_fd_deregistered_count(&self) -> u64 {
        self.handle.scheduler.info().io.counts().deregistered
    }

    /// Returns the number of I/O events that the kernel has reported to the I/O driver.
    pub fn io_driver_ready_count(&self) -> u64 {
        self.handle.scheduler.info().io.counts().events
    }
}
