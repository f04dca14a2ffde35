//! Keeps a scheduler's memory alive as long as any of its task cells.
//!
//! A task's cell points to its task list, which is a part of the scheduler. A waker or a join
//! handle can keep the cell alive after the runtime is gone. If each cell had a counted reference
//! to the scheduler, all workers would contend for the count's cache line at each spawn and each
//! end of a task. So references are taken from the shared count in batches: each worker has a
//! [`RefBag`], from which it takes references and to which it returns them without an atomic
//! operation.

use crate::timers::WorkerTimers;
use std::sync::Arc;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};

/// How many references a bag takes from the shared count at once. A bag that reaches twice as many
/// returns one such batch. Large enough to make the shared count's cost per task negligible. Loom
/// uses few, so that its models reach both limits.
const BATCH: usize = if cfg!(wakeful_loom) { 2 } else { 256 };

/// The shared count: the number of references in all cells and bags.
pub(crate) struct CellRefs(AtomicUsize);

/// A scheduler that its cells keep alive through [`CellRefs`].
pub(crate) trait KeptByCells: Sized {
    fn cell_refs(&self) -> &CellRefs;

    /// Calls `f` with two parts of the core, or with `None` if the calling thread runs no worker of
    /// `scheduler`. `f` must not run user code.
    fn with_own_core<R>(scheduler: *const Self, f: impl FnOnce(OwnCore<'_>) -> R) -> R;
}

/// The references and timers of the worker that the calling thread runs.
pub(crate) type OwnCore<'a> = Option<(&'a mut RefBag, &'a mut WorkerTimers)>;

impl CellRefs {
    pub(crate) fn new() -> CellRefs {
        CellRefs(AtomicUsize::new(0))
    }

    /// Takes one reference, from the worker that this thread runs if it runs one.
    #[cfg(feature = "time")]
    #[inline]
    pub(crate) fn take_one<S: KeptByCells>(scheduler: &Arc<S>) {
        S::with_own_core(Arc::as_ptr(scheduler), |own| match own {
            Some((refs, _)) => refs.take_one(scheduler),
            None => CellRefs::take(scheduler, 1),
        });
    }

    /// Returns one reference, to the worker that this thread runs if it runs one.
    ///
    /// # Safety
    /// As for [`give_back`](Self::give_back).
    #[inline]
    pub(crate) unsafe fn give_one<S: KeptByCells>(scheduler: *const S) {
        S::with_own_core(scheduler, |own| {
            // SAFETY: the caller passes its reference on.
            unsafe {
                match own {
                    Some((refs, _)) => refs.put_one(scheduler),
                    None => CellRefs::give_back(scheduler, 1),
                }
            }
        });
    }

    /// Takes `count` references. As long as any are taken, together they hold one reference of the
    /// `Arc`.
    pub(crate) fn take<S: KeptByCells>(scheduler: &Arc<S>, count: usize) {
        if scheduler.cell_refs().0.fetch_add(count, Relaxed) == 0 {
            // The count cannot fall to zero before this clone is made: the caller still has all
            // `count` references, and returns them later.
            std::mem::forget(scheduler.clone());
        }
    }

    /// Returns `count` references. The last one to be returned drops the reference of the `Arc`.
    ///
    /// # Safety
    /// The caller must own the references, and must not use `scheduler` after the call.
    pub(crate) unsafe fn give_back<S: KeptByCells>(scheduler: *const S, count: usize) {
        // SAFETY: the caller's references keep the scheduler alive until the subtraction. Nothing
        // uses `scheduler` after that, unless the count reached zero.
        if unsafe { (*scheduler).cell_refs().0.fetch_sub(count, AcqRel) } == count {
            // SAFETY: only the thread that brings the count to zero gets here. `take` leaked one
            // `Arc` reference when the count rose from zero, so this drop matches that clone.
            drop(unsafe { Arc::from_raw(scheduler) });
        }
    }
}

/// The references that a worker has taken for cells to come.
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

    /// Returns the reference of a cell that was freed.
    ///
    /// # Safety
    /// The caller must own the reference.
    #[inline]
    pub(crate) unsafe fn put_one<S: KeptByCells>(&mut self, scheduler: *const S) {
        self.0 += 1;
        if self.0 == 2 * BATCH {
            self.0 = BATCH;
            // SAFETY: the bag owns `2 * BATCH` references and returns half of them. The others keep
            // the scheduler alive.
            unsafe { CellRefs::give_back(scheduler, BATCH) };
        }
    }

    /// Returns all references to the shared count.
    pub(crate) fn empty<S: KeptByCells>(&mut self, scheduler: &Arc<S>) {
        let count = std::mem::take(&mut self.0);
        if count > 0 {
            // SAFETY: the bag owned these references and has none now. The borrowed `Arc` keeps the
            // scheduler alive.
            unsafe { CellRefs::give_back(Arc::as_ptr(scheduler), count) };
        }
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "cell_refs/tests/loom.rs"]
mod loom;
