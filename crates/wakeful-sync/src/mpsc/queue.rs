//! The queue of a channel: a chain of blocks, claimed at its tail and taken from at its head.
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
//! **To send** is to claim the slot at the tail by one compare-and-swap on the claim word, which in a
//! bounded channel also pays for it, and then to publish the value in the slot. Who claims the last slot
//! of a block makes the next block the tail before others may claim on; it prepares that block before
//! its claim, so others wait for a few instructions only.
//!
//! **To receive** is to take the value of the slot at the head, if it has been published. If it has not even
//! been claimed, the receiver says in the claim word that it waits for it; a claimer is about to publish, and
//! waited for as one waits for a lock.
//!
//! **A block is free** once the receiver has taken all its values: publishing is the last thing a sender
//! does to a block, and a sender that only *read* the address of the tail block does not follow it
//! unless its claim succeeds, which it can only while that block is the tail.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use wakeful_base::CachePadded;
use wakeful_base::sync::atomic::AtomicPtr;

use super::block::{Block, ValueSlot, is_last};
use super::state::{ClaimWord, ReceivedWord};
use crate::acquire_error::TryAcquireError;
use crate::backoff::Backoff;
use crate::on_unwind::drop_all;

const SPARE_BLOCKS_MAX: usize = 4;

/// The senders' end.
struct Tail<T> {
    claims: ClaimWord,
    /// The block of the slot to be claimed next, but while the claim word says `SWITCHING`.
    block: AtomicPtr<Block<T>>,
}

/// The receiver's end. The cells are touched by the receiver only, or by who drops the channel.
struct Head<T> {
    received: ReceivedWord,
    position: Cell<u64>,
    block: Cell<NonNull<Block<T>>>,
}

/// A slot that a sender has claimed. All others wait until a value is published in it: nothing may come in between that
/// could panic, and no user code, which might wait for the value itself.
#[must_use]
pub(super) struct Claimed<T> {
    slot: NonNull<ValueSlot<T>>,
    is_awaited: bool,
}

impl<T> Claimed<T> {
    /// Writes the value. True if the receiver waits for it, and is to be woken.
    #[inline]
    #[must_use]
    pub(super) fn publish(self, value: T) -> bool {
        // SAFETY: the slot has been claimed, which keeps its block, and is forgotten now.
        unsafe { self.slot.as_ref().publish(value) };
        self.is_awaited
    }
}

pub(super) struct Queue<T> {
    tail: CachePadded<Tail<T>>,
    head: CachePadded<Head<T>>,
    spares: [AtomicPtr<Block<T>>; SPARE_BLOCKS_MAX],
}

impl<T> Queue<T> {
    /// An empty queue, with so many credits in its claim word.
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

    /// Claims the slot at the tail.
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
                // SAFETY: as in `claim_slow`.
                let slot = NonNull::from(unsafe { &*block }.slot(claims.tail()));
                return Ok(Claimed { slot, is_awaited: claims.is_awaited() });
            }
        }
        self.claim_slow(price, even_if_closed)
    }

    /// As [`claim`](Self::claim), for the slot at the end of a block too, and after others who claim just now. Apart,
    /// so that most claims need not save and clear what only this needs.
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
                // Before the claim: this may call the user's allocator, which may wait for the claimed slot's value.
                self.put_unused(next_block.take());
            }
            match self.tail.claims.claim(claims, price, last) {
                Ok(()) => {
                    // SAFETY: the word had not changed, so `block` was the tail when we claimed a slot
                    // in it; from then until we publish, the receiver cannot get past that slot.
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

    /// Makes `next` the tail, after `block`, whose last slot the caller has claimed.
    #[inline]
    fn switch_to(&self, next: Option<NonNull<Block<T>>>, block: &Block<T>) {
        let Some(next) = next else { unreachable!("prepared before the claim") };
        block.set_next(next);
        self.tail.block.store(next.as_ptr(), Release);
        self.tail.claims.end_switch();
    }

    fn take_spare(&self) -> Option<NonNull<Block<T>>> {
        self.spares.iter().find_map(|spare| {
            // The load spares the empty ones a write.
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

    /// Keeps `block` for the next sender that needs one, or frees it.
    fn put_spare(&self, block: NonNull<Block<T>>) {
        let put = self.spares.iter().any(|spare| {
            let (none, block) = (ptr::null_mut(), block.as_ptr());
            spare.load(Relaxed).is_null()
                && spare.compare_exchange(none, block, Release, Relaxed).is_ok()
        });
        if !put {
            // SAFETY: the caller has it to itself, and nobody else has seen it.
            unsafe { Block::free(block) };
        }
    }

    /// Takes the next value, if it has been published; counting it as received is up to the caller.
    ///
    /// # Safety
    /// Only the receiver, or who drops the channel.
    #[inline]
    pub(super) unsafe fn pop(&self) -> Option<T> {
        let position = self.head.position.get();
        let block = self.head.block.get();
        // SAFETY: the head block is freed by nobody but us, below.
        let slot = unsafe { block.as_ref() }.slot(position);
        if !slot.is_ready() {
            return None;
        }
        // SAFETY: it is ready, and the position moves on.
        let value = unsafe { slot.take() };
        self.head.position.set(position + 1);
        if is_last(position) {
            // SAFETY: passed on to the caller.
            unsafe { self.leave_block(block) };
        }
        Some(value)
    }

    /// Goes on to the block after `done`, the head, whose values have all been taken.
    ///
    /// # Safety
    /// Only the receiver, or who drops the channel.
    #[inline(never)]
    unsafe fn leave_block(&self, done: NonNull<Block<T>>) {
        // SAFETY: the head block is freed by nobody but us, below.
        let block = unsafe { done.as_ref() };
        let Some(next) = block.next() else {
            unreachable!("the next block is set before the last slot is published")
        };
        self.head.block.set(next);
        block.reset();
        self.put_spare(done);
    }

    /// Makes whoever claims the slot at the head wake the receiver. False if it has been claimed already.
    ///
    /// # Safety
    /// Only the receiver.
    #[must_use]
    pub(super) unsafe fn wait_for_claim(&self) -> bool {
        self.tail.claims.wait_at(self.head.position.get())
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        // What is left was sent by permits that users had, after the receiver had gone.
        let mut blocks = FreeBlocks::all_of(self);
        drop_all(|| blocks.pop());
    }
}

/// Frees all blocks when dropped, even by the panic of a value's own `drop`.
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
        // SAFETY: the queue is being dropped, so its blocks are ours alone; every ready slot from the
        // head's position on has a value that nobody took.
        unsafe {
            let slot = self.block.as_ref().slot(self.position);
            if !slot.is_ready() {
                return None;
            }
            let value = slot.take();
            if is_last(self.position) {
                let next = self.block.as_ref().next().expect("set before the last is published");
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
            // SAFETY: ours alone, as above; a spare's `next` is null, and none is in the chain.
            unsafe {
                next = block.as_ref().next();
                Block::free(block);
            }
        }
        for spare in self.spares {
            if let Some(spare) = NonNull::new(spare) {
                // SAFETY: as above.
                unsafe { Block::free(spare) };
            }
        }
    }
}
