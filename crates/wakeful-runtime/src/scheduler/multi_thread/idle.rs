//! Who sleeps, who looks for work, and whom to wake.
//!
//! Waking a thread costs more than most tasks take, so no more are woken than will find something:
//!
//! - A woken worker **searches** until it finds work or gives up. While one searches nobody is woken:
//!   it will find what there is.
//! - A worker that stops searching because it found work, and was the last to search, wakes another
//!   if there is more.
//! - A worker that goes to sleep says so first and then looks at all queues once more. So whoever put
//!   work there either saw it among the sleepers, or its work is seen. If the worker sees some it
//!   searches on: there may be more, put there while it still counted as searching.
//!
//! That last rule needs a full fence between putting and looking. A push from outside the workers has
//! one. A worker's push onto its own queue does without: in the rare case that it misses a sleeper,
//! its task is still run, by the worker itself, which looks for sleepers again after each poll. For the
//! same reason what a worker has in its queue need not count as work for others ([`share`](super::share)).

use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom};

pub(super) struct Idle {
    /// Searching workers in the lower half, sleeping ones in the upper.
    counts: AtomicUsize,
    parked: Mutex<Vec<usize>>,
    workers: usize,
}

/// So many may search at a time, however few workers there are.
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

    /// Whether somebody sleeps and nobody searches. For the worker's own path: without a fence.
    #[inline]
    pub(super) fn should_notify(&self) -> bool {
        should_notify(self.counts.load(Relaxed))
    }

    /// Whether any worker has nothing to do.
    #[inline]
    pub(super) fn has_idle(&self) -> bool {
        self.counts.load(Relaxed) != 0
    }

    /// How many workers do not sleep.
    pub(super) fn awake(&self) -> usize {
        self.workers - parked_in(self.counts.load(SeqCst))
    }

    /// Whether every worker sleeps, and none was called yet.
    pub(super) fn are_all_parked(&self) -> bool {
        let counts = self.counts.load(SeqCst);
        parked_in(counts) == self.workers && searching(counts) == 0
    }

    /// The worker to wake for new work, if there is one to wake. It counts as searching from now on.
    pub(super) fn worker_to_notify(&self) -> Option<usize> {
        seq_cst_for_loom();
        if !should_notify(self.counts.load(SeqCst)) {
            return None;
        }
        let mut parked = self.parked.lock();
        // Sleepers leave only under the lock, but somebody may have begun to search.
        if searching(self.counts.load(SeqCst)) > 0 {
            return None;
        }
        let worker = parked.pop()?;
        self.counts.fetch_sub(PARKED - SEARCHING, SeqCst);
        Some(worker)
    }

    /// Asks to search. No more than half of the workers do at a time: more would only meet each other. But two may: where
    /// there are no more, one that has to sleep while the other finds something has to be woken for its share.
    pub(super) fn begin_search(&self) -> bool {
        let counts = self.counts.load(Relaxed);
        if searching(counts) >= self.workers.div_ceil(2).max(SEARCHERS_MIN) {
            return false;
        }
        self.counts.fetch_add(SEARCHING, SeqCst);
        true
    }

    /// Stops searching. True if nobody else searches, so that the caller has to look for more work.
    #[must_use]
    pub(super) fn end_search(&self) -> bool {
        let before = self.counts.fetch_sub(SEARCHING, SeqCst);
        seq_cst_for_loom();
        searching(before) == 1
    }

    /// Counts `worker` among the sleepers. It has to look at all queues once more before it sleeps.
    pub(super) fn begin_park(&self, worker: usize, was_searching: bool) {
        let mut parked = self.parked.lock();
        parked.push(worker);
        let change = PARKED - if was_searching { SEARCHING } else { 0 };
        self.counts.fetch_add(change, SeqCst);
        seq_cst_for_loom();
    }

    /// `worker` is awake. True if it counts as searching: because somebody woke it for work, or because
    /// it `saw_work` before it slept.
    #[must_use]
    pub(super) fn end_park(&self, worker: usize, saw_work: bool) -> bool {
        let mut parked = self.parked.lock();
        match parked.iter().rposition(|&sleeper| sleeper == worker) {
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
