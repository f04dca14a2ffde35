//! The system allocator at a flat price: its own accesses to memory are not instrumented.

use std::alloc::{GlobalAlloc, Layout, System};

use super::charge_allocation;

struct Priced;

#[global_allocator]
static ALLOCATOR: Priced = Priced;

// SAFETY: every call is passed on to `System`, with the same arguments.
unsafe impl GlobalAlloc for Priced {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        charge_allocation();
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        charge_allocation();
        // SAFETY: the block was allocated by `System`, with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}
