//! The counters behind `RuntimeMetrics`, which the schedulers update while they run.

mod histogram;
mod log_histogram;

pub(crate) use histogram::{Histogram, ScaledBuckets};
pub use histogram::{HistogramConfiguration, HistogramScale};
pub use log_histogram::{InvalidHistogramConfiguration, LogHistogram, LogHistogramBuilder};

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use wakeful_base::budget;
use wakeful_base::sync::Mutex;

/// A counter with a single writer at a time.
///
/// Since only one thread writes it, an update is a plain load and store, without a
/// read-modify-write.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed) + n, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// Which histograms a runtime's workers keep.
#[derive(Clone, Default)]
pub(crate) struct HistogramConfig {
    pub(crate) poll_times: Option<HistogramConfiguration>,
    pub(crate) schedule_latencies: Option<HistogramConfiguration>,
}

/// The counters of one worker, written by the thread that runs the worker.
#[derive(Default)]
pub(crate) struct WorkerMetrics {
    pub(crate) polls: Counter,
    pub(crate) spawned: Counter,
    pub(crate) ended: Counter,
    pub(crate) local_schedules: Counter,
    pub(crate) steals: Counter,
    pub(crate) steal_operations: Counter,
    pub(crate) parks: Counter,
    pub(crate) unparks: Counter,
    pub(crate) noops: Counter,
    pub(crate) forced_yields: Counter,
    busy_ns: Counter,
    /// The number of polls when the worker parked last.
    polls_at_park: AtomicU64,
    /// Zero until it is measured.
    mean_poll_ns: AtomicU64,
    thread: Mutex<Option<ThreadId>>,
    /// Also written by threads that have lost the worker, when their poll returns.
    pub(crate) poll_times: Option<Histogram>,
    pub(crate) schedule_latencies: Option<Histogram>,
}

impl WorkerMetrics {
    pub(crate) fn new(histograms: &HistogramConfig) -> WorkerMetrics {
        WorkerMetrics {
            poll_times: histograms.poll_times.as_ref().map(Histogram::new),
            schedule_latencies: histograms.schedule_latencies.as_ref().map(Histogram::new),
            ..WorkerMetrics::default()
        }
    }

    /// Counts a park, and whether the worker has polled a task since the one before.
    pub(crate) fn note_park(&self) {
        let polls = self.polls.get();
        if polls == self.polls_at_park.load(Relaxed) {
            self.noops.add(1);
        }
        self.polls_at_park.store(polls, Relaxed);
        self.parks.add(1);
    }

    /// Notes how long some polls of the worker took on average. As in its own estimate, the last
    /// measurement counts half.
    pub(crate) fn note_mean_poll(&self, mean_ns: u64) {
        let mean_ns = match self.mean_poll_ns.load(Relaxed) {
            0 => mean_ns,
            before => before.midpoint(mean_ns),
        };
        self.mean_poll_ns.store(mean_ns.max(1), Relaxed);
    }

    /// Returns how long the worker's polls take lately. After a few polls, which are not a
    /// measurement yet, that is the mean of all.
    pub(crate) fn mean_poll(&self) -> Duration {
        let mean_ns = match self.mean_poll_ns.load(Relaxed) {
            0 => self.busy_ns.get().checked_div(self.polls.get()).unwrap_or(0),
            measured => measured,
        };
        Duration::from_nanos(mean_ns)
    }

    /// Notes that the calling thread runs the worker from now on.
    pub(crate) fn note_thread(&self) {
        *self.thread.lock() = Some(thread::current().id());
    }

    pub(crate) fn thread_id(&self) -> Option<ThreadId> {
        *self.thread.lock()
    }

    /// Counts a poll that has just returned if it used up its budget.
    #[inline]
    pub(crate) fn note_budget(&self) {
        if !budget::has_remaining() {
            self.forced_yields.add(1);
        }
    }

    /// Counts the time from `since` to `now` as busy, and returns `now`.
    pub(crate) fn add_busy(&self, since: Instant, now: Instant) -> Instant {
        self.busy_ns.add(now.saturating_duration_since(since).as_nanos() as u64);
        now
    }

    pub(crate) fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy_ns.get())
    }
}

/// The counters of events outside the workers, written by any thread.
#[derive(Default)]
pub(crate) struct RemoteMetrics {
    pub(crate) spawned: AtomicU64,
    pub(crate) ended: AtomicU64,
    pub(crate) schedules: AtomicU64,
    pub(crate) forced_yields: AtomicU64,
}

impl RemoteMetrics {
    pub(crate) fn inc(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }

    /// Runs a poll, and counts it if it uses up its budget.
    pub(crate) fn noting_budget<R>(&self, poll: impl FnOnce() -> R) -> R {
        let polled = poll();
        if !budget::has_remaining() {
            RemoteMetrics::inc(&self.forced_yields);
        }
        polled
    }
}
