//! Settings that are there for programs written for Tokio: names that Tokio has replaced, and
//! choices between two ways of Tokio's, of which Wakeful has one.

use super::Builder;
use crate::metrics::HistogramScale;
use std::time::Duration;

/// Settings for experiments of Tokio's, accepted so that programs with them compile.
#[doc(hidden)]
impl Builder {
    /// Enables timers. (In Tokio, those of each worker; Wakeful's always are.)
    pub fn enable_alt_timer(&mut self) -> &mut Self {
        self.enable_time()
    }

    /// Does nothing: a worker that blocks never keeps the others from waiting for I/O.
    pub fn enable_eager_driver_handoff(&mut self) -> &mut Self {
        self
    }

    /// Does nothing: Wakeful does not use io_uring.
    pub fn enable_io_uring(&mut self) -> &mut Self {
        self
    }

    /// Does nothing: Wakeful's blocking pool has one kind of queue.
    pub fn enable_sharded_blocking_queue(&mut self) -> &mut Self {
        self
    }
}

/// Names that Tokio has replaced.
impl Builder {
    /// Enables the histogram of poll times.
    #[doc(hidden)]
    #[deprecated(note = "use `enable_metrics_poll_time_histogram`")]
    pub fn enable_metrics_poll_count_histogram(&mut self) -> &mut Self {
        self.enable_metrics_poll_time_histogram()
    }

    /// Sets whether the buckets of the histogram of poll times grow.
    ///
    /// See [`HistogramScale`] for an example.
    #[deprecated(note = "use `metrics_poll_time_histogram_configuration`")]
    pub fn metrics_poll_count_histogram_scale(
        &mut self,
        histogram_scale: HistogramScale,
    ) -> &mut Self {
        self.scaled_poll_times().scale = histogram_scale;
        self
    }

    /// Sets the width of the first bucket of the histogram of poll times. The default is 100 µs.
    ///
    /// On a logarithmic scale it is rounded up to a power of two, in nanoseconds.
    ///
    /// # Panics
    /// Panics if `resolution` is zero or above one second.
    #[track_caller]
    #[deprecated(note = "use `metrics_poll_time_histogram_configuration`")]
    pub fn metrics_poll_count_histogram_resolution(&mut self, resolution: Duration) -> &mut Self {
        assert!(
            !resolution.is_zero() && resolution <= Duration::from_secs(1),
            "`Builder::metrics_poll_count_histogram_resolution` called with {resolution:?}; it must \
             be above 0 and at most 1 s"
        );
        self.scaled_poll_times().resolution = resolution;
        self
    }

    /// Sets the number of buckets of the histogram of poll times. The default is 10.
    ///
    /// # Panics
    /// Panics if `buckets` is zero.
    #[track_caller]
    #[deprecated(note = "use `metrics_poll_time_histogram_configuration`")]
    pub fn metrics_poll_count_histogram_buckets(&mut self, buckets: usize) -> &mut Self {
        assert!(
            buckets > 0,
            "`Builder::metrics_poll_count_histogram_buckets` called with 0; a histogram needs at \
             least 1 bucket"
        );
        self.scaled_poll_times().buckets = buckets;
        self
    }
}
