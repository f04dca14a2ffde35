//! Models of references that are returned while others are taken: the scheduler is dropped with the
//! last one, once.

use super::*;
use crate::testing::model;
use std::sync::atomic::AtomicUsize;
use wakeful_base::sync::thread;

struct TestScheduler {
    refs: CellRefs,
    /// An atomic of std, outside the model: it is read after the scheduler is dropped.
    dropped: Arc<AtomicUsize>,
}

impl KeptByCells for TestScheduler {
    fn cell_refs(&self) -> &CellRefs {
        &self.refs
    }

    fn with_own_core<R>(_: *const Self, f: impl FnOnce(OwnCore<'_>) -> R) -> R {
        f(None)
    }
}

impl Drop for TestScheduler {
    fn drop(&mut self) {
        // Loom reports any use of the count that is not ordered before this drop.
        self.refs.0.with_mut(|count| assert_eq!(*count, 0, "a reference is left"));
        self.dropped.fetch_add(1, SeqCst);
    }
}

fn test_scheduler() -> (Arc<TestScheduler>, Arc<AtomicUsize>) {
    let dropped = Arc::new(AtomicUsize::new(0));
    (Arc::new(TestScheduler { refs: CellRefs::new(), dropped: dropped.clone() }), dropped)
}

/// A cell's reference.
struct Cell(*const TestScheduler);

// SAFETY: the reference keeps the scheduler alive, which is `Sync` and may be dropped on any
// thread.
unsafe impl Send for Cell {}

impl Cell {
    fn new(scheduler: &Arc<TestScheduler>) -> Cell {
        CellRefs::take(scheduler, 1);
        Cell(Arc::as_ptr(scheduler))
    }

    fn free(self) {
        // SAFETY: `new` took the reference, and `self` is consumed.
        unsafe { CellRefs::give_one(self.0) };
    }
}

#[test]
fn the_last_cell_frees_the_scheduler() {
    model(|| {
        let (scheduler, dropped) = test_scheduler();
        let cells = [Cell::new(&scheduler), Cell::new(&scheduler)];
        let threads = cells.map(|cell| thread::spawn(move || cell.free()));
        drop(scheduler);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(dropped.load(SeqCst), 1);
    });
}

#[test]
fn a_cell_is_created_while_the_last_one_is_freed() {
    model(|| {
        let (scheduler, dropped) = test_scheduler();
        let cell = Cell::new(&scheduler);
        let other = thread::spawn(move || cell.free());
        let cell = Cell::new(&scheduler);
        drop(scheduler);
        assert_eq!(dropped.load(SeqCst), 0, "the second cell keeps it");
        cell.free();
        other.join().unwrap();
        assert_eq!(dropped.load(SeqCst), 1);
    });
}

#[test]
fn three_threads_create_and_free_cells() {
    model(|| {
        let (scheduler, dropped) = test_scheduler();
        let threads = [(); 2].map(|()| {
            let scheduler = scheduler.clone();
            thread::spawn(move || Cell::new(&scheduler).free())
        });
        Cell::new(&scheduler).free();
        drop(scheduler);
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(dropped.load(SeqCst), 1);
    });
}

#[test]
fn a_bag_takes_and_returns_references() {
    model(|| {
        let (scheduler, dropped) = test_scheduler();
        let mut bag = RefBag::new();
        bag.take_one(&scheduler);
        let cell = Cell(Arc::as_ptr(&scheduler));
        let other = thread::spawn(move || cell.free());
        // Cells that were made with other references are freed here, until the bag returns a batch.
        for _ in 0..BATCH + 1 {
            let Cell(ended) = Cell::new(&scheduler);
            // SAFETY: the reference of the cell that was just taken apart.
            unsafe { bag.put_one(ended) };
        }
        assert_eq!(bag.0, BATCH);
        bag.empty(&scheduler);
        drop(scheduler);
        other.join().unwrap();
        assert_eq!(dropped.load(SeqCst), 1);
    });
}
