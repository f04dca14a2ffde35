//! Which workers are parked, which are searching, and which one to unpark for new work.
//!
//! Unparking a thread costs more than most tasks take, so no more workers are unparked than will
//! find work:
//!
//! - An unparked worker **searches** until it finds work or gives up. While one worker searches, no
//!   other is unparked: the searching worker will find what there is.
//! - A worker that found work stops searching. If it was the last one to search and there is more
//!   work, it unparks another.
//! - A worker that parks first registers as parked, and then checks all queues once more. A thread
//!   that queues work first pushes, and then looks for parked workers. So either that thread sees
//!   the parked worker, or the worker sees the work. A worker that sees work searches again: there
//!   may be more, queued while the worker still counted as searching.
//!
//! The third rule needs a full fence between the push and the look at the parked workers. A push to
//! the injection queue has it. A worker's push to its own queue has none. In the rare case that
//! this misses a parked worker, the worker itself runs the task, and it looks for parked workers
//! again after each poll. For the same reason a worker's own queue need not count as work for
//! others (see [`share`](super::share)).

use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom};

/// Counts of searching and parked workers.
pub(super) struct Idle {
    /// The number of searching workers in the lower half, of parked workers in the upper half.
    counts: AtomicUsize,
    parked: Mutex<Vec<usize>>,
    workers: usize,
}

/// How many workers may search at a time, at least. If only one could, a second worker would park
/// at once, and would often have to be unparked again when the first finds work for both.
const SEARCHERS_MIN: usize = 2;

const HALF_BITS: u32 = usize::BITS / 2;
const SEARCHING: usize = 1;
const PARKED: usize = 1 << HALF_BITS;

fn searching(counts: usize) -> usize {
    counts & (PARKED - 1)
}

fn parked_in(counts: usize) -> usize {
    counts >> HALF_BITS
}

impl Idle {
    pub(super) fn new(workers: usize) -> Idle {
        Idle {
            counts: AtomicUsize::new(0),
            parked: Mutex::new(Vec::with_capacity(workers)),
            workers,
        }
    }

    /// Returns whether a worker is parked and none is searching. For a worker's own push: without a
    /// fence.
    #[inline]
    pub(super) fn should_notify(&self) -> bool {
        should_notify(self.counts.load(Relaxed))
    }

    /// Returns whether any worker is parked or searching.
    #[inline]
    pub(super) fn has_idle(&self) -> bool {
        self.counts.load(Relaxed) != 0
    }

    /// Returns how many workers are not parked.
    pub(super) fn awake(&self) -> usize {
        self.workers - parked_in(self.counts.load(SeqCst))
    }

    /// Returns whether every worker is parked and none is notified.
    pub(super) fn are_all_parked(&self) -> bool {
        let counts = self.counts.load(SeqCst);
        parked_in(counts) == self.workers && searching(counts) == 0
    }

    /// Returns the worker to unpark for new work, if there is one. It counts as searching from now
    /// on.
    pub(super) fn worker_to_notify(&self) -> Option<usize> {
        seq_cst_for_loom();
        if !should_notify(self.counts.load(SeqCst)) {
            return None;
        }
        let mut parked = self.parked.lock();
        // Checked again: a worker may have started to search before this thread had the lock.
        if searching(self.counts.load(SeqCst)) > 0 {
            return None;
        }
        let worker = parked.pop()?;
        self.counts.fetch_sub(PARKED - SEARCHING, SeqCst);
        Some(worker)
    }

    /// Starts a search, unless enough workers are searching. At most half of the workers search at
    /// a time, because more would only compete with each other, but always up to [`SEARCHERS_MIN`].
    pub(super) fn begin_search(&self) -> bool {
        let counts = self.counts.load(Relaxed);
        if searching(counts) >= self.workers.div_ceil(2).max(SEARCHERS_MIN) {
            return false;
        }
        self.counts.fetch_add(SEARCHING, SeqCst);
        true
    }

    /// Ends a search. Returns true if no other worker searches, so that the caller has to look for
    /// more work.
    #[must_use]
    pub(super) fn end_search(&self) -> bool {
        let before = self.counts.fetch_sub(SEARCHING, SeqCst);
        seq_cst_for_loom();
        searching(before) == 1
    }

    /// Registers `worker` as parked. It has to check all queues once more before it parks.
    pub(super) fn begin_park(&self, worker: usize, was_searching: bool) {
        let mut parked = self.parked.lock();
        parked.push(worker);
        let change = PARKED - if was_searching { SEARCHING } else { 0 };
        self.counts.fetch_add(change, SeqCst);
        seq_cst_for_loom();
    }

    /// Ends the park of `worker`. Returns true if it counts as searching: because another thread
    /// unparked it for work, or because it `saw_work` before it parked.
    #[must_use]
    pub(super) fn end_park(&self, worker: usize, saw_work: bool) -> bool {
        let mut parked = self.parked.lock();
        match parked.iter().rposition(|&index| index == worker) {
            None => true,
            Some(at) => {
                parked.swap_remove(at);
                let change = PARKED - if saw_work { SEARCHING } else { 0 };
                self.counts.fetch_sub(change, SeqCst);
                saw_work
            }
        }
    }
}

fn should_notify(counts: usize) -> bool {
    parked_in(counts) > 0 && searching(counts) == 0
}

#[cfg(all(test, wakeful_loom))]
#[path = "idle/tests/loom.rs"]
mod loom;
