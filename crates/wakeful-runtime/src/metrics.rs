//! The counters behind `RuntimeMetrics`, which the schedulers update while they run.

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
    thread: Mutex<Option<ThreadId>>,
}

impl WorkerMetrics {
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
}

impl RemoteMetrics {
    pub(crate) fn inc(counter: &AtomicU64) {
        counter.fetch_add(1, Relaxed);
    }
}
