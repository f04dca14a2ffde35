//! The queue of a channel: a linked list of blocks, with claims at the tail and receives at the
//! head.
//!
//! ```text
//!    head                                          tail
//!     │ the receiver's                              │ where senders claim
//!     ▼                                             ▼
//!   ┌─────────┐ next ┌─────────┐ next ┌─────────┐
//!   │ ··VVVVV │─────▶│ VVVVVVV │─────▶│ VVV____ │      spares: blocks the receiver is done with
//!   └─────────┘      └─────────┘      └─────────┘
//! ```
//!
//! **To send**, a sender claims the slot at the tail by one compare-and-swap of the claim word,
//! which also pays for it in a bounded channel, and then publishes the value in the slot. The
//! sender that claims the last slot of a block makes the next block the tail before others can
//! claim again. It prepares that block before its claim, so other senders wait for a few
//! instructions only.
//!
//! **To receive**, the receiver takes the value of the slot at the head, if it has been published.
//! If the slot has not even been claimed, the receiver marks the claim word as awaited, so that the
//! sender that claims it wakes the receiver. If the slot has been claimed but not published, its
//! sender is about to publish; the receiver spins briefly, as for a lock.
//!
//! **A block can be reused** once the receiver has taken all its values. Publishing is the last
//! access of a sender to a block. A sender that has read the address of the tail block does not
//! dereference it unless its claim succeeds, and the claim succeeds only while that block is the
//! tail.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use wakeful_base::CachePadded;
use wakeful_base::on_unwind::drop_all;
use wakeful_base::sync::atomic::AtomicPtr;

use super::block::{Block, ValueSlot, is_last};
use super::state::{ClaimWord, ReceivedWord};
use crate::acquire_error::TryAcquireError;
use crate::backoff::Backoff;

/// Bounds the blocks that a channel keeps for reuse. Further blocks are freed.
const SPARE_BLOCKS_MAX: usize = 4;

/// The senders' end of the queue.
struct Tail<T> {
    claims: ClaimWord,
    /// The block of the slot that is claimed next, except while the claim word is SWITCHING.
    block: AtomicPtr<Block<T>>,
}

/// The receiver's end of the queue. Only the receiver touches the cells, or the thread that drops
/// the channel.
struct Head<T> {
    received: ReceivedWord,
    position: Cell<u64>,
    block: Cell<NonNull<Block<T>>>,
}

/// A slot that a sender has claimed and has to publish.
///
/// The receiver cannot pass the slot before its value is published. So between claim and publish
/// the sender must not panic, and must not run user code, which could itself wait for that value.
#[must_use]
pub(super) struct Claimed<T> {
    slot: NonNull<ValueSlot<T>>,
    is_awaited: bool,
}

impl<T> Claimed<T> {
    /// Writes the value. Returns true if the receiver waits for it and must be woken.
    #[inline]
    #[must_use]
    pub(super) fn publish(self, value: T) -> bool {
        // SAFETY: this sender has claimed the slot, since only `claim` and `claim_slow` make a
        // `Claimed`. The receiver cannot pass a slot that is not published, so its block is still
        // alive. `self` is consumed, so the slot is not used again.
        unsafe { ValueSlot::publish(self.slot, value) };
        self.is_awaited
    }
}

pub(super) struct Queue<T> {
    tail: CachePadded<Tail<T>>,
    head: CachePadded<Head<T>>,
    spares: [AtomicPtr<Block<T>>; SPARE_BLOCKS_MAX],
}

impl<T> Queue<T> {
    /// Creates an empty queue with `credits` credits in its claim word.
    pub(super) fn new(credits: usize) -> Self {
        let block = Block::new();
        let claims = ClaimWord::new(credits);
        let (position, received) = (Cell::new(0), ReceivedWord::new());
        Queue {
            tail: CachePadded::new(Tail { claims, block: AtomicPtr::new(block.as_ptr()) }),
            head: CachePadded::new(Head { received, position, block: Cell::new(block) }),
            spares: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
        }
    }

    #[inline]
    pub(super) fn claims(&self) -> &ClaimWord {
        &self.tail.claims
    }

    #[inline]
    pub(super) fn received(&self) -> &ReceivedWord {
        &self.head.received
    }

    /// Claims the slot at the tail for `price` credits.
    #[inline]
    pub(super) fn claim(
        &self,
        price: u64,
        even_if_closed: bool,
    ) -> Result<Claimed<T>, TryAcquireError> {
        let claims = self.tail.claims.load();
        let is_open = even_if_closed || !claims.is_closed();
        let is_paid = claims.credits() as u64 >= price;
        if is_open && is_paid && !claims.is_switching() && !is_last(claims.tail()) {
            let block = self.tail.block.load(Acquire);
            if self.tail.claims.claim(claims, price, false).is_ok() {
                // SAFETY: as in `claim_slow`: `block` was loaded after `claims`, and the word had
                // not changed when the claim succeeded.
                let slot = NonNull::from(unsafe { &*block }.slot(claims.tail()));
                return Ok(Claimed { slot, is_awaited: claims.is_awaited() });
            }
        }
        self.claim_slow(price, even_if_closed)
    }

    /// Claims a slot like [`claim`](Self::claim), but also the last slot of a block, and retries if
    /// other senders claim at the same time.
    ///
    /// Not inlined, so that `claim` does not have to save the registers that only this path uses
    /// (see bench/NOTES.md: claim of a slot).
    #[inline(never)]
    fn claim_slow(&self, price: u64, even_if_closed: bool) -> Result<Claimed<T>, TryAcquireError> {
        let mut backoff = Backoff::new();
        let mut next_block = None;
        let mut claims = self.tail.claims.load();
        let outcome = loop {
            if claims.is_closed() && !even_if_closed {
                break Err(TryAcquireError::Closed);
            }
            if (claims.credits() as u64) < price {
                break Err(TryAcquireError::NoPermits);
            }
            if claims.is_switching() {
                backoff.pause();
                claims = self.tail.claims.load();
                continue;
            }
            let block = self.tail.block.load(Acquire);
            let last = is_last(claims.tail());
            if last && next_block.is_none() {
                next_block = Some(self.take_spare().unwrap_or_else(Block::new));
            }
            if !last {
                // This must precede the claim: freeing the block calls the global allocator, and a
                // user's allocator may wait for the value of the claimed slot.
                self.put_unused(next_block.take());
            }
            match self.tail.claims.claim(claims, price, last) {
                Ok(()) => {
                    // SAFETY: `tail.block` changes only while the word is SWITCHING, and the claim
                    // succeeded on the word that was loaded before `block`. So `block` was the tail
                    // when this sender claimed a slot in it. Until the sender publishes, the
                    // receiver cannot pass that slot, so the block stays alive.
                    let block = unsafe { &*block };
                    if last {
                        self.switch_to(next_block.take(), block);
                    }
                    let slot = NonNull::from(block.slot(claims.tail()));
                    break Ok(Claimed { slot, is_awaited: claims.is_awaited() });
                }
                Err(changed) => claims = changed,
            }
        };
        self.put_unused(next_block);
        outcome
    }

    /// Links `next` behind `block`, whose last slot the caller has claimed, and makes `next` the
    /// tail.
    #[inline]
    fn switch_to(&self, next: Option<NonNull<Block<T>>>, block: &Block<T>) {
        let Some(next) = next else { unreachable!("the next block is prepared before the claim") };
        block.set_next(next);
        self.tail.block.store(next.as_ptr(), Release);
        self.tail.claims.end_switch();
    }

    fn take_spare(&self) -> Option<NonNull<Block<T>>> {
        self.spares.iter().find_map(|spare| {
            // The load avoids a write to the empty entries.
            let is_set = !spare.load(Relaxed).is_null();
            is_set.then(|| NonNull::new(spare.swap(ptr::null_mut(), Acquire))).flatten()
        })
    }

    #[inline]
    fn put_unused(&self, next_block: Option<NonNull<Block<T>>>) {
        if let Some(unused) = next_block {
            self.put_spare(unused);
        }
    }

    /// Keeps `block` as a spare for the next sender that needs one, or frees it.
    fn put_spare(&self, block: NonNull<Block<T>>) {
        let put = self.spares.iter().any(|spare| {
            let (none, block) = (ptr::null_mut(), block.as_ptr());
            spare.load(Relaxed).is_null()
                && spare.compare_exchange(none, block, Release, Relaxed).is_ok()
        });
        if !put {
            // SAFETY: `block` is either new and was never linked, or the receiver has taken all its
            // values and unlinked it. Either way the caller has exclusive access, and `block` is
            // not in `spares`.
            unsafe { Block::free(block) };
        }
    }

    /// Takes the next value, if it has been published. The caller counts it as received.
    ///
    /// # Safety
    /// The caller must be the receiver, or the thread that drops the channel.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Option<T> {
        let position = self.head.position.get();
        let block = self.head.block.get();
        // SAFETY: only the receiver frees or recycles the head block, in `leave_block`, after it
        // made the next block the head. The caller is the receiver, by contract.
        let slot = unsafe { block.as_ref() }.slot(position);
        if !slot.is_ready() {
            return None;
        }
        // SAFETY: the slot is ready, the caller is the receiver, and it moves its position past the
        // slot, so it does not take the value again.
        let value = unsafe { slot.take() };
        self.head.position.set(position + 1);
        if is_last(position) {
            // SAFETY: the caller is the receiver, by contract, and has taken all values of `block`.
            unsafe { self.leave_block(block) };
        }
        Some(value)
    }

    /// Makes the block after `done` the head, and recycles `done`, whose values have all been
    /// taken.
    ///
    /// # Safety
    /// The caller must be the receiver, or the thread that drops the channel. It must have taken
    /// all values of `done`, which must be the head block.
    #[inline(never)]
    unsafe fn leave_block(&self, done: NonNull<Block<T>>) {
        // SAFETY: only the receiver frees or recycles the head block, in `leave_block`, after it
        // made the next block the head. The caller is the receiver, by contract.
        let block = unsafe { done.as_ref() };
        let Some(next) = block.next() else {
            unreachable!("the next block is set before the last slot is published")
        };
        self.head.block.set(next);
        block.reset();
        self.put_spare(done);
    }

    /// Makes the sender that claims the slot at the head wake the receiver. Returns false if the
    /// slot has already been claimed.
    ///
    /// # Safety
    /// The caller must be the receiver.
    #[must_use]
    pub(super) unsafe fn wait_for_claim(&self) -> bool {
        self.tail.claims.wait_at(self.head.position.get())
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        // Values are left if they were sent with permits after the receiver was dropped.
        let mut blocks = FreeBlocks::all_of(self);
        drop_all(|| blocks.pop());
    }
}

/// The blocks of a queue that is being dropped. Frees them when dropped, even if the drop of a
/// value panics.
struct FreeBlocks<T> {
    block: NonNull<Block<T>>,
    position: u64,
    spares: [*mut Block<T>; SPARE_BLOCKS_MAX],
}

impl<T> FreeBlocks<T> {
    fn all_of(queue: &mut Queue<T>) -> Self {
        FreeBlocks {
            block: queue.head.block.get(),
            position: queue.head.position.get(),
            spares: std::array::from_fn(|i| queue.spares[i].load(Acquire)),
        }
    }

    fn pop(&mut self) -> Option<T> {
        // SAFETY: the queue is being dropped (`all_of` takes it by `&mut`), so no sender or
        // receiver accesses its blocks. Each ready slot from `position` on has a value that the
        // receiver did not take, and this function takes it once, since `position` moves on. A
        // block is freed only after its last slot, and is replaced by the next one.
        unsafe {
            let slot = self.block.as_ref().slot(self.position);
            if !slot.is_ready() {
                return None;
            }
            let value = slot.take();
            if is_last(self.position) {
                let next = self
                    .block
                    .as_ref()
                    .next()
                    .expect("the next block is set before the last slot is published");
                Block::free(std::mem::replace(&mut self.block, next));
            }
            self.position += 1;
            Some(value)
        }
    }
}

impl<T> Drop for FreeBlocks<T> {
    fn drop(&mut self) {
        let mut next = Some(self.block);
        while let Some(block) = next {
            // SAFETY: exclusive access, as in `pop`. Each block is in the list or in `spares`,
            // never in both: a spare was unlinked before, and its `next` is null. So each is freed
            // once.
            unsafe {
                next = block.as_ref().next();
                Block::free(block);
            }
        }
        for spare in self.spares {
            if let Some(spare) = NonNull::new(spare) {
                // SAFETY: exclusive access, as above; the spare is in one entry only.
                unsafe { Block::free(spare) };
            }
        }
    }
}
