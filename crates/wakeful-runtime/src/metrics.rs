//! Counters that the schedulers keep while they run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use wakeful_base::budget;
use wakeful_base::sync::Mutex;

/// A counter with one writer at a time, which therefore needs no read-modify-write.
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

/// What one worker has done. Written by its sitter.
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
    /// Units of the budget that were paid.
    pub(crate) progress: Counter,
    busy_ns: Counter,
    thread: Mutex<Option<ThreadId>>,
}

impl WorkerMetrics {
    /// The calling thread is the worker now.
    pub(crate) fn record_thread(&self) {
        *self.thread.lock() = Some(thread::current().id());
    }

    pub(crate) fn thread_id(&self) -> Option<ThreadId> {
        *self.thread.lock()
    }

    /// What the worker has done: how often it polled, and how often what it polled made progress.
    pub(crate) fn work(&self) -> u64 {
        self.polls.get() + self.progress.get()
    }

    /// A task's turn is over: counts it if it used its budget up.
    #[inline]
    pub(crate) fn note_budget(&self) {
        if !budget::has_remaining() {
            self.forced_yields.add(1);
        }
    }

    /// The worker was busy from `since` until now, which is returned.
    pub(crate) fn add_busy(&self, since: Instant) -> Instant {
        let now = Instant::now();
        self.busy_ns.add(now.duration_since(since).as_nanos() as u64);
        now
    }

    pub(crate) fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy_ns.get())
    }
}

/// What came from outside the workers. Written by anybody.
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
