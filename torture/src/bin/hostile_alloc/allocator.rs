//! The allocator of this program: on every N-th allocation it calls the runtime.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

struct Calling;

#[global_allocator]
static CALLING: Calling = Calling;

/// How many allocations of a thread there are per call. 0 means no calls.
static PERIOD: AtomicU64 = AtomicU64::new(0);

/// Only allocations of at least this many bytes count: this selects, for example, run queues that
/// grow.
static SIZE_MIN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Makes every `period`-th allocation of at least `size_min` bytes call the runtime.
pub fn call_on_each(period: u64, size_min: usize) {
    SIZE_MIN.store(size_min, Relaxed);
    PERIOD.store(period, Relaxed);
}

/// Stops calling the runtime. Calls on other threads may still be in progress.
pub fn stop_calling() {
    PERIOD.store(0, Relaxed);
}

fn allocated(size: usize) {
    let period = PERIOD.load(Relaxed);
    if period == 0 || size < SIZE_MIN.load(Relaxed) {
        return;
    }
    // Neither thread-local has a destructor, so both are usable until the thread ends.
    let count = COUNT.get() + 1;
    COUNT.set(count);
    if count % period == 0 && !INSIDE.replace(true) {
        crate::calls::call_runtime();
        INSIDE.set(false);
    }
}

// SAFETY: every method passes its arguments on to the system allocator. The call of the runtime
// does not unwind. Its own allocations go through this allocator too, without a nested call.
unsafe impl GlobalAlloc for Calling {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        allocated(layout.size());
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract of `dealloc`; all memory comes from `System`.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        allocated(size);
        // SAFETY: the caller upholds the contract of `realloc`; all memory comes from `System`.
        unsafe { System.realloc(memory, layout, size) }
    }
}
