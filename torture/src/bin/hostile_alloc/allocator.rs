//! The program's allocator, which calls the runtime on each so many-th allocation.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

struct Calling;

#[global_allocator]
static CALLING: Calling = Calling;

/// On each so many-th allocation of a thread; 0 for never.
static PERIOD: AtomicU64 = AtomicU64::new(0);

/// Only on allocations of so many bytes or more: a run queue that grows, for example.
static SIZE_MIN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Has allocations call the runtime from now on.
pub fn call_on_each(period: u64, size_min: usize) {
    SIZE_MIN.store(size_min, Relaxed);
    PERIOD.store(period, Relaxed);
}

/// Has allocations do nothing else from now on. Calls of other threads may still be under way.
pub fn stop_calling() {
    PERIOD.store(0, Relaxed);
}

fn allocated(size: usize) {
    let period = PERIOD.load(Relaxed);
    if period == 0 || size < SIZE_MIN.load(Relaxed) {
        return;
    }
    // Neither needs a destructor, so both are there to the very end of a thread.
    let count = COUNT.get() + 1;
    COUNT.set(count);
    if count % period == 0 && !INSIDE.replace(true) {
        crate::calls::call_runtime();
        INSIDE.set(false);
    }
}

// SAFETY: all memory is the system allocator's. What is called in between does not unwind, and
// memory that it allocates comes from here, too, without being called again.
unsafe impl GlobalAlloc for Calling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: passed on to the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: passed on to the caller.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        allocated(size);
        // SAFETY: passed on to the caller.
        unsafe { System.realloc(memory, layout, size) }
    }
}
