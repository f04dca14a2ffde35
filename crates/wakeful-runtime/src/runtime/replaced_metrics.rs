//! Names of metrics that Tokio has replaced, for programs that still use them.

use super::RuntimeMetrics;
use std::ops::Range;
use std::time::Duration;

/// Names that Tokio has replaced.
#[doc(hidden)]
impl RuntimeMetrics {
    /// Returns the number of tasks that were spawned and have not ended.
    #[deprecated(note = "use `num_alive_tasks`")]
    pub fn active_tasks_count(&self) -> usize {
        self.num_alive_tasks()
    }

    /// Returns the number of tasks in the injection queue.
    #[deprecated(note = "use `global_queue_depth`")]
    pub fn injection_queue_depth(&self) -> usize {
        self.global_queue_depth()
    }

    /// Returns whether the histogram of poll times is enabled.
    #[deprecated(note = "use `poll_time_histogram_enabled`")]
    pub fn poll_count_histogram_enabled(&self) -> bool {
        self.poll_time_histogram_enabled()
    }

    /// Returns the number of buckets of the histogram of poll times.
    #[deprecated(note = "use `poll_time_histogram_num_buckets`")]
    pub fn poll_count_histogram_num_buckets(&self) -> usize {
        self.poll_time_histogram_num_buckets()
    }

    /// Returns the poll times that `bucket` counts.
    #[track_caller]
    #[deprecated(note = "use `poll_time_histogram_bucket_range`")]
    pub fn poll_count_histogram_bucket_range(&self, bucket: usize) -> Range<Duration> {
        self.poll_time_histogram_bucket_range(bucket)
    }

    /// Returns the number of polls by `worker` that took a time in the range of `bucket`.
    #[track_caller]
    #[deprecated(note = "use `poll_time_histogram_bucket_count`")]
    pub fn poll_count_histogram_bucket_count(&self, worker: usize, bucket: usize) -> u64 {
        self.poll_time_histogram_bucket_count(worker, bucket)
    }
}
