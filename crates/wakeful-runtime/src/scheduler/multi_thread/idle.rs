//! Which workers are parked, searching or have tasks queued, and which one to unpark for new work.
//!
//! Unparking a thread costs more than many tasks take, so no more workers are unparked than will
//! find work:
//!
//! - An unparked worker **searches** until it finds work or gives up. While enough workers search
//!   (see [`notify`](super::notify)), no other is unparked: they will find what there is.
//! - A worker that found work stops searching. If it was the last one to search and there is more
//!   work, it unparks another.
//! - A worker that parks first registers as parked. If no other worker searches then, it checks for
//!   work once more. Otherwise the searching worker sees it as parked when its own search ends.
//! - A thread that queues work first pushes, and then looks for parked and searching workers. So
//!   either that thread sees a parking worker, or the worker sees the work.
//!
//! A check for work reads a bitmap, not every queue: a worker that queues a task sets its bit. A
//! worker that finds a queue empty clears the bit, and looks at that queue again. So while all
//! workers are busy no thread writes to the bitmap, and a search costs the same with any number of
//! workers.
//!
//! A worker looks for parked workers only if its bit was not set before: then it **owes** a
//! notification, until it has looked. The invariant: if a bit is set and a worker is parked, then
//! the worker with that bit owes a notification, or a worker searches, or is about to unpark
//! another one, or the queue's tasks are those that a worker has just found. A search keeps this
//! up, because it ends in one of two ways: the worker parks, which it does only if no bit is set or
//! another worker searches; or it finds work, and then the last one looks at all bits again, clears
//! those without tasks, and unparks another worker if one is left.
//!
//! A worker may owe a notification only between two pieces of user code, which may block or
//! compute: it looks after each push by user code, and before it runs user code, unless its queue
//! is empty by then. Most often it is, because the worker runs the only task itself. Tasks from the
//! injection queue need no look: the thread that injected them has looked, and until they are in a
//! worker's queue they count as injected. Tasks that the monitor publishes while a poll lasts are
//! the monitor's to look for. A hook around a park may run while its worker searches, as on
//! Tokio: if it blocks, other workers are unparked at the monitor's next look only.
//!
//! The rules need a full fence between a push and the look at the bit or at the workers. A push to
//! either queue is a sequentially consistent read-modify-write.

use super::queue::RunQueue;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed as StdRelaxed};
use wakeful_base::CachePadded;
use wakeful_base::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom};

/// Counts of searching and parked workers, and hints on queues.
pub(super) struct Idle {
    /// The number of searching workers in the lower half, of parked workers in the upper half.
    counts: CachePadded<AtomicUsize>,
    /// A bit for each worker whose queue may have tasks.
    queued: Box<[CachePadded<AtomicU64>]>,
    parked: CachePadded<Mutex<Vec<usize>>>,
    /// A worker spins. Std's type even under loom, whose models do not spin.
    spinning: CachePadded<AtomicBool>,
    workers: usize,
}

const HALF_BITS: u32 = usize::BITS / 2;
const SEARCHING: usize = 1;
const PARKED: usize = 1 << HALF_BITS;

fn searching(counts: usize) -> usize {
    counts & (PARKED - 1)
}

fn parked_in(counts: usize) -> usize {
    counts >> HALF_BITS
}

fn bit_of(worker: usize) -> u64 {
    1 << (worker % u64::BITS as usize)
}

impl Idle {
    pub(super) fn new(workers: usize) -> Idle {
        let words = workers.div_ceil(u64::BITS as usize);
        Idle {
            counts: CachePadded::new(AtomicUsize::new(0)),
            queued: (0..words).map(|_| CachePadded::new(AtomicU64::new(0))).collect(),
            parked: CachePadded::new(Mutex::new(Vec::with_capacity(workers))),
            spinning: CachePadded::new(AtomicBool::new(false)),
            workers,
        }
    }

    fn word_of(&self, worker: usize) -> &AtomicU64 {
        &self.queued[worker / u64::BITS as usize]
    }

    /// Notes that `worker` has tasks in its queue. Returns true if its bit was not set before: then
    /// a parked worker may have to be notified.
    #[inline]
    #[must_use]
    pub(super) fn set_queued(&self, worker: usize) -> bool {
        seq_cst_for_loom();
        let word = self.word_of(worker);
        let is_new = word.load(SeqCst) & bit_of(worker) == 0;
        if is_new {
            word.fetch_or(bit_of(worker), SeqCst);
        }
        is_new
    }

    /// Returns whether there are tasks in the queue of `worker`, whose bit is set. If there are
    /// none, clears the bit.
    pub(super) fn has_tasks(&self, worker: usize, queue: &RunQueue) -> bool {
        if !queue.is_empty() {
            return true;
        }
        self.clear_queued(worker);
        // The owner may have pushed a task, and seen the bit, before it was cleared.
        let is_pushed = !queue.is_empty();
        if is_pushed {
            // The caller searches, or looks for parked workers after this.
            let _is_new = self.set_queued(worker);
        }
        is_pushed
    }

    /// Notes that the queue of `worker` is empty. Only the worker itself may rely on that.
    pub(super) fn clear_queued(&self, worker: usize) {
        let word = self.word_of(worker);
        if word.load(Relaxed) & bit_of(worker) != 0 {
            word.fetch_and(!bit_of(worker), SeqCst);
            seq_cst_for_loom();
        }
    }

    /// Returns how many workers may have tasks queued.
    pub(super) fn queued_count(&self) -> usize {
        self.queued.iter().map(|word| word.load(Relaxed).count_ones() as usize).sum()
    }

    /// Returns whether any worker may have tasks queued.
    pub(super) fn is_any_queued(&self) -> bool {
        self.queued.iter().any(|word| word.load(SeqCst) != 0)
    }

    /// Returns all workers that may have tasks queued.
    pub(super) fn queued(&self) -> impl Iterator<Item = usize> + '_ {
        let is_queued = |&worker: &usize| self.word_of(worker).load(SeqCst) & bit_of(worker) != 0;
        (0..self.workers).filter(is_queued)
    }

    /// Returns a worker other than `own` that may have tasks queued, if there is one among the
    /// `count` workers from `start` on.
    pub(super) fn next_queued(&self, start: usize, count: usize, own: usize) -> Option<usize> {
        let mut candidates = (start..start + count).map(|i| i % self.workers);
        candidates.find(|&worker| {
            worker != own && self.word_of(worker).load(Acquire) & bit_of(worker) != 0
        })
    }

    /// Returns whether to unpark a worker, if `searchers` may search at a time.
    #[inline]
    pub(super) fn should_notify(&self, searchers: usize) -> bool {
        should_notify(self.counts.load(SeqCst), searchers)
    }

    /// Returns whether a worker is parked.
    #[inline]
    pub(super) fn has_parked(&self) -> bool {
        seq_cst_for_loom();
        parked_in(self.counts.load(SeqCst)) > 0
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

    /// Returns the worker to unpark for new work, if there is one and fewer than `searchers`
    /// search. It counts as searching from now on.
    pub(super) fn worker_to_notify(&self, searchers: usize) -> Option<usize> {
        seq_cst_for_loom();
        if !should_notify(self.counts.load(SeqCst), searchers) {
            return None;
        }
        let mut parked = self.parked.lock();
        // Checked again: a worker may have started to search before this thread had the lock.
        if searching(self.counts.load(SeqCst)) >= searchers {
            return None;
        }
        let worker = parked.pop()?;
        self.counts.fetch_sub(PARKED - SEARCHING, SeqCst);
        Some(worker)
    }

    /// Starts a search, unless `searchers` workers or more search already.
    pub(super) fn begin_search(&self, searchers: usize) -> bool {
        let before = self.counts.fetch_add(SEARCHING, SeqCst);
        let may_search = searching(before) < searchers;
        if !may_search {
            self.counts.fetch_sub(SEARCHING, SeqCst);
        }
        may_search
    }

    /// Ends a search. Returns true if no other worker searches, so that the caller has to look for
    /// more work.
    #[must_use]
    pub(super) fn end_search(&self) -> bool {
        let before = self.counts.fetch_sub(SEARCHING, SeqCst);
        seq_cst_for_loom();
        searching(before) == 1
    }

    /// Lets the caller spin, unless another worker does.
    pub(super) fn begin_spin(&self) -> bool {
        !self.spinning.swap(true, StdRelaxed)
    }

    pub(super) fn end_spin(&self) {
        self.spinning.store(false, StdRelaxed);
    }

    /// Registers `worker` as parked. Returns true if it has to check for work once more before it
    /// parks, because no other worker is searching.
    #[must_use]
    pub(super) fn begin_park(&self, worker: usize, was_searching: bool) -> bool {
        let own_search = if was_searching { SEARCHING } else { 0 };
        let mut parked = self.parked.lock();
        parked.push(worker);
        let before = self.counts.fetch_add(PARKED - own_search, SeqCst);
        seq_cst_for_loom();
        searching(before) == own_search
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

fn should_notify(counts: usize, searchers: usize) -> bool {
    searching(counts) < searchers && parked_in(counts) > 0
}

#[cfg(all(test, wakeful_loom))]
#[path = "idle/tests/loom.rs"]
mod loom;
