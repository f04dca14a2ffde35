//! The builder's settings for metrics that cost something.

use super::Builder;
use crate::metrics::{HistogramConfig, HistogramConfiguration, ScaledBuckets};

/// Which metrics are enabled, and the buckets of their histograms.
#[derive(Default)]
pub(super) struct MetricSettings {
    has_poll_times: bool,
    poll_times: HistogramConfiguration,
    /// Takes precedence, as in Tokio.
    scaled_poll_times: Option<ScaledBuckets>,
    pub(super) tracks_schedule_latency: bool,
    has_schedule_latencies: bool,
    schedule_latencies: HistogramConfiguration,
}

impl MetricSettings {
    pub(super) fn histograms(&self) -> HistogramConfig {
        let scaled = self.scaled_poll_times.map(ScaledBuckets::configuration);
        let poll_times = || scaled.unwrap_or_else(|| self.poll_times.clone());
        HistogramConfig {
            poll_times: self.has_poll_times.then(poll_times),
            schedule_latencies: self
                .has_schedule_latencies
                .then(|| self.schedule_latencies.clone()),
        }
    }
}

impl Builder {
    /// Enables the histogram of poll times: how long each poll of a task takes.
    ///
    /// This reads the clock twice for each poll. By default there are 10
    /// [buckets](Self::metrics_poll_time_histogram_configuration) of 100 µs.
    ///
    /// [`RuntimeMetrics`](crate::runtime::RuntimeMetrics) has the counts.
    ///
    /// ```
    /// use std::{thread, time::Duration};
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime = Builder::new_current_thread().enable_metrics_poll_time_histogram().build()?;
    /// runtime.block_on(runtime.spawn(async { thread::sleep(Duration::from_millis(2)) })).unwrap();
    /// let metrics = runtime.metrics();
    /// assert_eq!(metrics.poll_time_histogram_bucket_count(0, 9), 1); // 900 µs and more
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enable_metrics_poll_time_histogram(&mut self) -> &mut Self {
        self.metrics.has_poll_times = true;
        self
    }

    /// Sets the buckets of the histogram of poll times.
    ///
    /// This does not enable the histogram.
    ///
    /// See [`HistogramConfiguration`] for an example.
    pub fn metrics_poll_time_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.metrics.poll_times = configuration;
        self
    }

    /// Measures how long tasks are scheduled before they are polled, for the task callbacks.
    ///
    /// The time is that from the moment when the task is spawned or woken, or yields, until it is
    /// polled. This reads the clock twice for each poll, and allocates some bytes for each task.
    ///
    /// ```
    /// use std::sync::mpsc;
    /// use wakeful::runtime::Builder;
    ///
    /// let (tx, rx) = mpsc::channel();
    /// let runtime = Builder::new_current_thread()
    ///     .track_task_schedule_latency()
    ///     .on_before_task_poll(move |task| tx.send(task.schedule_latency()).unwrap())
    ///     .build()?;
    /// runtime.block_on(runtime.spawn(async {})).unwrap();
    /// assert!(rx.recv().unwrap().is_some());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn track_task_schedule_latency(&mut self) -> &mut Self {
        self.metrics.tracks_schedule_latency = true;
        self
    }

    /// Enables the histogram of schedule latencies: how long tasks are scheduled before they are
    /// polled.
    ///
    /// This costs the same as [`track_task_schedule_latency`](Self::track_task_schedule_latency),
    /// and implies it. By default there are 10
    /// [buckets](Self::metrics_schedule_latency_histogram_configuration) of 100 µs.
    ///
    /// ```
    /// use std::{thread, time::Duration};
    /// use wakeful::runtime::Builder;
    ///
    /// let runtime =
    ///     Builder::new_current_thread().enable_metrics_schedule_latency_histogram().build()?;
    /// let task = runtime.spawn(async {});
    /// thread::sleep(Duration::from_millis(2)); // the task waits for `block_on`
    /// runtime.block_on(task).unwrap();
    /// let metrics = runtime.metrics();
    /// assert_eq!(metrics.schedule_latency_histogram_bucket_count(0, 9), 1); // 900 µs and more
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enable_metrics_schedule_latency_histogram(&mut self) -> &mut Self {
        self.metrics.has_schedule_latencies = true;
        self
    }

    /// Sets the buckets of the histogram of schedule latencies.
    ///
    /// This does not enable the histogram.
    ///
    /// See [`HistogramConfiguration`] for an example.
    pub fn metrics_schedule_latency_histogram_configuration(
        &mut self,
        configuration: HistogramConfiguration,
    ) -> &mut Self {
        self.metrics.schedule_latencies = configuration;
        self
    }

    pub(super) fn scaled_poll_times(&mut self) -> &mut ScaledBuckets {
        self.metrics.scaled_poll_times.get_or_insert_with(ScaledBuckets::default)
    }
}
