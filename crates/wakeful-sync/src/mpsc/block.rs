//! Blocks of slots, which the queue is a chain of.
//!
//! A slot's state says what the value's memory holds and who may touch it:
//!
//! ```text
//!            (1) publish             (2) take
//!   empty ─────────────────▶ ready ──────────────▶ (taken; empty again by reset)
//! ```
//!
//! (1) is a step of the sender that claimed the slot, and its last touch of the block; (2) is the
//! receiver's. The value belongs to the claimer before (1) and to the receiver after.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use wakeful_base::slab_alloc;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicBool, AtomicPtr};

#[cfg(not(wakeful_loom))]
pub(super) const SLOTS: usize = 32;
#[cfg(wakeful_loom)]
pub(super) const SLOTS: usize = 2;

/// One value's place.
pub(super) struct Slot<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    is_ready: AtomicBool,
}

impl<T> Slot<T> {
    /// Writes the value and hands the slot over to the receiver.
    ///
    /// # Safety
    /// The caller must have claimed the slot, and must not touch it or its block after.
    #[inline]
    pub(super) unsafe fn publish(&self, value: T) {
        // SAFETY: the claimer has the slot to itself until the store.
        self.value.with_mut(|place| unsafe { (*place).write(value) });
        self.is_ready.store(true, Release);
    }

    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(Acquire)
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The slot must be ready, and the caller the receiver, who does this once.
    #[inline]
    pub(super) unsafe fn take(&self) -> T {
        // SAFETY: a ready slot has a value, and it belongs to the receiver.
        self.value.with(|place| unsafe { (*place).assume_init_read() })
    }
}

/// A row of slots, and the way to the next.
pub(super) struct Block<T> {
    /// Written by the claimer of the last slot before it publishes, read by the receiver after.
    next: AtomicPtr<Block<T>>,
    slots: [Slot<T>; SLOTS],
}

impl<T> Block<T> {
    /// A block of empty slots.
    pub(super) fn new() -> NonNull<Block<T>> {
        let place = slab_alloc::allocate::<Block<T>>();
        // SAFETY: just allocated for one. The fields are written in place, since a block of large values does not fit on
        // the stack; a `MaybeUninit` needs no writing.
        unsafe {
            let block = place.as_ptr();
            (&raw mut (*block).next).write(AtomicPtr::new(ptr::null_mut()));
            for i in 0..SLOTS {
                (&raw mut (*block).slots[i].is_ready).write(AtomicBool::new(false));
                #[cfg(wakeful_loom)]
                (&raw mut (*block).slots[i].value).write(UnsafeCell::new(MaybeUninit::uninit()));
            }
        }
        place
    }

    /// Frees the block, but not what is in its slots.
    ///
    /// # Safety
    /// Nobody may use the block any more.
    pub(super) unsafe fn free(block: NonNull<Block<T>>) {
        // SAFETY: nobody uses it; it came from `new`.
        unsafe {
            block.drop_in_place();
            slab_alloc::free(block);
        }
    }

    /// The slot of a position in the channel.
    #[inline]
    pub(super) fn slot(&self, position: u64) -> &Slot<T> {
        &self.slots[position as usize % SLOTS]
    }

    #[inline]
    pub(super) fn set_next(&self, next: NonNull<Block<T>>) {
        self.next.store(next.as_ptr(), Release);
    }

    #[inline]
    pub(super) fn next(&self) -> Option<NonNull<Block<T>>> {
        NonNull::new(self.next.load(Acquire))
    }

    /// Makes all slots empty again. The caller must have the block to itself, and have taken all values.
    pub(super) fn reset(&self) {
        self.next.store(ptr::null_mut(), Relaxed);
        for slot in &self.slots {
            slot.is_ready.store(false, Relaxed);
        }
    }
}

/// Whether a position is the last in its block.
#[inline]
pub(super) fn is_last(position: u64) -> bool {
    position as usize % SLOTS == SLOTS - 1
}
