//! Blocks of slots, of which the queue is a linked list.
//!
//! `is_ready` says what a slot's memory holds, and which side may touch it:
//!
//! ```text
//!            (1) publish             (2) take
//!   empty ─────────────────▶ ready ──────────────▶ (taken; empty again by reset)
//! ```
//!
//! (1) is the last thing that the sender which claimed the slot does to the block; (2) is a step of
//! the receiver. The value belongs to that sender before (1), and to the receiver after it.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use wakeful_base::slab_alloc;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicBool, AtomicPtr};

/// The number of slots in a block.
#[cfg(not(wakeful_loom))]
pub(super) const SLOTS: usize = 32;
/// The number of slots in a block: few, so that models reach the end of a block.
#[cfg(wakeful_loom)]
pub(super) const SLOTS: usize = 2;

/// The place of one value in a block.
pub(super) struct ValueSlot<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    is_ready: AtomicBool,
}

impl<T> ValueSlot<T> {
    /// Writes the value, and hands the slot over to the receiver.
    ///
    /// Takes a pointer, because the receiver may free the block before this function returns, and
    /// the memory behind a reference must stay allocated until the function that got it returns.
    ///
    /// # Safety
    /// The caller must have claimed the slot, and must not touch the slot or its block afterwards.
    #[inline]
    pub(super) unsafe fn publish(this: NonNull<Self>, value: T) {
        let slot = this.as_ptr();
        // SAFETY: the sender that claimed the slot has exclusive access to its value until it sets
        // `is_ready`. The caller is that sender, by contract, and sets it only below. The receiver
        // does not free the block before that.
        unsafe { (*slot).value.with_mut(|place| (*place).write(value)) };
        // SAFETY: the block is alive, as above. The store is the last access to it; the reference
        // that it goes through covers the atomic only, which may be freed during the call.
        unsafe { (*slot).is_ready.store(true, Release) };
    }

    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        self.is_ready.load(Acquire)
    }

    /// Moves the value out.
    ///
    /// # Safety
    /// The slot must be ready, the caller must be the receiver, and it must take each value only
    /// once.
    #[inline]
    pub(super) unsafe fn take(&self) -> T {
        // SAFETY: the caller has seen `is_ready` (Acquire), which the sender set (Release) after it
        // wrote the value. A ready slot belongs to the receiver, which the caller is, and which has
        // not taken this value before.
        self.value.with(|place| unsafe { (*place).assume_init_read() })
    }
}

/// A fixed number of slots, and a pointer to the block after it.
pub(super) struct Block<T> {
    /// Set by the sender that claimed the last slot, before it publishes that slot; read by the
    /// receiver after it took the value of that slot.
    next: AtomicPtr<Block<T>>,
    slots: [ValueSlot<T>; SLOTS],
}

impl<T> Block<T> {
    /// Allocates a block of empty slots.
    pub(super) fn new() -> NonNull<Block<T>> {
        let place = slab_alloc::allocate::<Block<T>>();
        // SAFETY: `place` is a fresh allocation of a `Block<T>` that nothing else refers to. The
        // fields are written in place, since a block of large values would not fit on the stack.
        // All fields are initialized but the values, which are `MaybeUninit` and need no
        // initialization; under loom their cells do.
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

    /// Frees the block, but does not drop the values in it.
    ///
    /// # Safety
    /// The block must come from [`new`](Self::new), and nothing may use it any more.
    pub(super) unsafe fn free(block: NonNull<Block<T>>) {
        // SAFETY: by contract the block came from `new`, and this is its last use.
        unsafe {
            block.drop_in_place();
            slab_alloc::free(block);
        }
    }

    /// Returns the slot for a position in the channel.
    #[inline]
    pub(super) fn slot(&self, position: u64) -> &ValueSlot<T> {
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

    /// Makes all slots empty again. The caller must have exclusive access to the block, and have
    /// taken all its values.
    pub(super) fn reset(&self) {
        self.next.store(ptr::null_mut(), Relaxed);
        for slot in &self.slots {
            slot.is_ready.store(false, Relaxed);
        }
    }
}

/// Returns whether a position is the last one of its block.
#[inline]
pub(super) fn is_last(position: u64) -> bool {
    position as usize % SLOTS == SLOTS - 1
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    struct SendPtr<P>(NonNull<P>);
    // SAFETY: the test synchronizes the access to what it points to.
    unsafe impl<P> Send for SendPtr<P> {}

    /// Miri reports an error if `publish` still has a reference to the slot when the block is
    /// freed.
    #[test]
    fn a_block_may_be_freed_before_publish_returns() {
        for number in 0..20_u64 {
            let block = Block::new();
            // SAFETY: the block is live until `free` below.
            let slot = unsafe { block.as_ref() }.slot(0);
            let claimed = SendPtr(NonNull::from(slot));
            let sender = std::thread::spawn(move || {
                let SendPtr(slot) = { claimed };
                // SAFETY: only this thread publishes the slot, and does not use it afterwards.
                unsafe { ValueSlot::publish(slot, number) };
            });
            while !slot.is_ready() {
                std::thread::yield_now();
            }
            // SAFETY: the slot is ready, and its value is taken only here. The sender's last access
            // to the block was to make it ready.
            unsafe {
                assert_eq!(slot.take(), number);
                Block::free(block);
            }
            sender.join().unwrap();
        }
    }
}
