//! Keeps a scheduler's memory as long as any of its tasks has some.
//!
//! A task's cell points to its home, a part of the scheduler, and can outlive the runtime in a waker or
//! a join handle. A counted reference per task to the scheduler would be one cache line for all workers
//! to fight over, at each spawn and each end. So references are taken from the common count in bulk:
//! each worker keeps a [`RefBag`] it can give from, and put back to, without an atomic operation.

use std::sync::Arc;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};

/// How many references a bag takes at once; with twice as many it gives that many back.
const BATCH: usize = if cfg!(wakeful_loom) { 2 } else { 256 };

/// The common count: all references in cells and bags.
pub(crate) struct CellRefs(AtomicUsize);

/// A scheduler whose memory is kept this way.
pub(crate) trait KeptByCells: Sized {
    fn cell_refs(&self) -> &CellRefs;
}

impl CellRefs {
    pub(crate) fn new() -> CellRefs {
        CellRefs(AtomicUsize::new(0))
    }

    /// Takes `count` references. While there are any, they hold one of the `Arc`'s.
    pub(crate) fn take<S: KeptByCells>(scheduler: &Arc<S>, count: usize) {
        if scheduler.cell_refs().0.fetch_add(count, Relaxed) == 0 {
            // Nobody gives these references back before this is done: they are still ours.
            std::mem::forget(scheduler.clone());
        }
    }

    /// Gives `count` references back; with the last one goes the `Arc`'s.
    ///
    /// # Safety
    /// The references must be the caller's; `scheduler` may be gone after the call.
    pub(crate) unsafe fn give_back<S: KeptByCells>(scheduler: *const S, count: usize) {
        // SAFETY: the references keep the scheduler up to here.
        if unsafe { (*scheduler).cell_refs().0.fetch_sub(count, AcqRel) } == count {
            // SAFETY: `take` left this one behind.
            drop(unsafe { Arc::from_raw(scheduler) });
        }
    }
}

/// References at a worker's hand.
pub(crate) struct RefBag(usize);

impl RefBag {
    pub(crate) fn new() -> RefBag {
        RefBag(0)
    }

    /// Takes one reference for a new cell.
    #[inline]
    pub(crate) fn take_one<S: KeptByCells>(&mut self, scheduler: &Arc<S>) {
        if self.0 == 0 {
            CellRefs::take(scheduler, BATCH);
            self.0 = BATCH;
        }
        self.0 -= 1;
    }

    /// Puts back the reference of a cell that is gone.
    ///
    /// # Safety
    /// The reference must be the caller's.
    #[inline]
    pub(crate) unsafe fn put_one<S: KeptByCells>(&mut self, scheduler: &Arc<S>) {
        self.0 += 1;
        if self.0 == 2 * BATCH {
            self.0 = BATCH;
            // SAFETY: they are ours; the borrow shows that the scheduler stays.
            unsafe { CellRefs::give_back(Arc::as_ptr(scheduler), BATCH) };
        }
    }

    /// Gives all back to the common count.
    pub(crate) fn empty<S: KeptByCells>(&mut self, scheduler: &Arc<S>) {
        let count = std::mem::take(&mut self.0);
        if count > 0 {
            // SAFETY: as above.
            unsafe { CellRefs::give_back(Arc::as_ptr(scheduler), count) };
        }
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "cell_refs/tests/loom.rs"]
mod loom;
