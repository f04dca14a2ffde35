//! What senders and receiver share: the queue of blocks, and who is still there.
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
//! **To receive** is to take the value of the slot at the head, if it has been published. If not, the
//! receiver leaves its waker, marks that slot as awaited, and is woken by the one who publishes it.
//!
//! **A block is free** once the receiver has taken all its values: publishing is the last thing a sender
//! does to a block, and a sender that only *read* the address of the tail block does not follow it
//! unless its claim succeeds, which it can only while that block is the tail.

use std::cell::Cell;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::task::{Context, Poll, Waker, ready};

use wakeful_base::sync::atomic::{AtomicPtr, AtomicUsize};
use wakeful_base::{CachePadded, budget};

use super::block::{Block, Published, Slot, is_last};
use super::capacity::{Capacity, Words};
use super::error::TryRecvError;
use super::rx_waker::RxWaker;
use super::state::{ClaimWord, ReceivedWord};
use crate::acquire::{Enqueued, PermitSource};
use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::backoff::Backoff;
use crate::batch_semaphore::BatchSemaphore;
use crate::permit_queue::{PermitQueue, Waiter};

const SPARES: usize = 4;

/// What a value in the channel costs.
pub(super) trait Flow {
    /// How many credits.
    const PRICE: u64;

    /// Counts `n` values as received.
    fn received(&self, words: Words<'_>, n: usize);

    /// Lets nobody send any more.
    fn close(&self, words: Words<'_>);

    /// Whether nothing is under way: no value in the channel, no permit to send one.
    fn is_idle(&self, words: Words<'_>) -> bool;
}

impl Flow for Capacity {
    const PRICE: u64 = 1;

    #[inline]
    fn received(&self, words: Words<'_>, n: usize) {
        self.received(words, n);
    }

    fn close(&self, words: Words<'_>) {
        self.close(words);
    }

    fn is_idle(&self, words: Words<'_>) -> bool {
        self.available(words) == self.bound()
    }
}

/// Values cost nothing.
pub(super) struct Unlimited;

impl Flow for Unlimited {
    const PRICE: u64 = 0;

    #[inline]
    fn received(&self, words: Words<'_>, n: usize) {
        words.received.add_unheard(n);
    }

    fn close(&self, words: Words<'_>) {
        words.claims.close();
    }

    fn is_idle(&self, words: Words<'_>) -> bool {
        words.claims.load().in_flight(words.received.count()) == 0
    }
}

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

pub(super) struct Chan<T, F> {
    tail: CachePadded<Tail<T>>,
    head: CachePadded<Head<T>>,
    rx_waker: RxWaker,
    spares: [AtomicPtr<Block<T>>; SPARES],
    /// Closed together with the channel; nothing else ever happens to it.
    closing: BatchSemaphore,
    senders: AtomicUsize,
    weak_senders: AtomicUsize,
    flow: F,
}

// SAFETY: the channel owns values that other threads receive, hence `T: Send`; the head's cells are
// touched by one thread at a time, which is the contract of the methods that do.
unsafe impl<T: Send, F: Send> Send for Chan<T, F> {}
// SAFETY: as above.
unsafe impl<T: Send, F: Sync> Sync for Chan<T, F> {}
impl<T, F> UnwindSafe for Chan<T, F> {}
impl<T, F> RefUnwindSafe for Chan<T, F> {}

impl<T, F: Flow> Chan<T, F> {
    /// An empty channel with one sender.
    pub(super) fn new(flow: F, credits: usize) -> Self {
        let block = Block::new();
        let claims = ClaimWord::new(credits);
        let (position, received) = (Cell::new(0), ReceivedWord::new());
        Chan {
            tail: CachePadded::new(Tail { claims, block: AtomicPtr::new(block.as_ptr()) }),
            head: CachePadded::new(Head { received, position, block: Cell::new(block) }),
            rx_waker: RxWaker::new(),
            spares: std::array::from_fn(|_| AtomicPtr::new(ptr::null_mut())),
            closing: BatchSemaphore::new(0),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            flow,
        }
    }

    #[inline]
    pub(super) fn words(&self) -> Words<'_> {
        Words { claims: &self.tail.claims, received: &self.head.received }
    }

    /// Sends `value` if nothing speaks against it; otherwise it stays where it is.
    #[inline]
    pub(super) fn try_send(&self, value: &mut Option<T>) -> Result<(), TryAcquireError> {
        let slot = self.claim(F::PRICE, false)?;
        let value = value.take().expect("a value is sent once");
        self.publish(slot, value);
        Ok(())
    }

    /// Sends `value`, which has been paid for.
    #[inline]
    pub(super) fn send_paid(&self, value: T) {
        let Ok(slot) = self.claim(0, true) else {
            unreachable!("what has been paid for can be claimed even in a closed channel")
        };
        self.publish(slot, value);
    }

    /// Claims the slot at the tail.
    #[inline]
    fn claim(&self, price: u64, even_if_closed: bool) -> Result<NonNull<Slot<T>>, TryAcquireError> {
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
            match self.tail.claims.claim(claims, price, last) {
                Ok(()) => {
                    // SAFETY: the word had not changed, so `block` was the tail when we claimed a slot
                    // in it; from then until we publish, the receiver cannot get past that slot.
                    let block = unsafe { &*block };
                    if last {
                        self.switch_to(next_block.take(), block);
                    }
                    break Ok(NonNull::from(block.slot(claims.tail())));
                }
                Err(changed) => claims = changed,
            }
        };
        if let Some(unused) = next_block {
            self.put_spare(unused);
        }
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

    #[inline]
    fn publish(&self, slot: NonNull<Slot<T>>, value: T) {
        // SAFETY: the caller has just claimed the slot, which keeps its block, and forgets it now.
        let published = unsafe { slot.as_ref().publish(value) };
        if published == Published::Awaited {
            self.rx_waker.wake();
        }
    }

    fn take_spare(&self) -> Option<NonNull<Block<T>>> {
        self.spares.iter().find_map(|spare| {
            // The load spares the empty ones a write.
            let there = !spare.load(Relaxed).is_null();
            there.then(|| NonNull::new(spare.swap(ptr::null_mut(), Acquire))).flatten()
        })
    }

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
    unsafe fn pop(&self) -> Option<T> {
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
            // SAFETY: as above.
            let done = unsafe { block.as_ref() };
            let Some(next) = done.next() else {
                unreachable!("the next block is set before the last slot is published")
            };
            self.head.block.set(next);
            done.reset();
            self.put_spare(block);
        }
        Some(value)
    }

    /// Whether no value will ever come after those already in the channel.
    fn is_finished(&self, rx_closed: bool) -> bool {
        self.senders.load(Acquire) == 0 || rx_closed && self.flow.is_idle(self.words())
    }

    /// As [`pop`](Self::pop), or leaves `waker` to be called when there is a value or none to come.
    ///
    /// # Safety
    /// Only the receiver.
    #[inline]
    unsafe fn pop_or_wait(&self, waker: &Waker) -> Poll<Option<T>> {
        // SAFETY: passed on to the caller.
        if let Some(value) = unsafe { self.pop() } {
            return Poll::Ready(Some(value));
        }
        // SAFETY: passed on to the caller.
        unsafe { self.wait_for_value(waker) }
    }

    /// # Safety
    /// Only the receiver.
    unsafe fn wait_for_value(&self, waker: &Waker) -> Poll<Option<T>> {
        let closed = self.tail.claims.load().is_closed();
        let mut registered = false;
        loop {
            // In this order: whoever was there to send has sent by the time it is gone.
            let finished = self.is_finished(closed);
            // SAFETY: passed on to the caller.
            if let Some(value) = unsafe { self.pop() } {
                return Poll::Ready(Some(value));
            }
            if finished {
                return Poll::Ready(None);
            }
            if registered {
                return Poll::Pending;
            }
            self.rx_waker.register(waker);
            // SAFETY: the head block is freed by nobody but the receiver.
            let slot = unsafe { self.head.block.get().as_ref() }.slot(self.head.position.get());
            // If it is published already, the next round finds it.
            let _ = slot.wait();
            registered = true;
        }
    }

    /// Receives a value.
    ///
    /// # Safety
    /// Only the receiver.
    #[inline]
    pub(super) unsafe fn poll_recv(&self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        let unit = ready!(budget::poll_proceed(cx));
        // SAFETY: passed on to the caller.
        let value = ready!(unsafe { self.pop_or_wait(cx.waker()) });
        if value.is_some() {
            self.flow.received(self.words(), 1);
        }
        unit.made_progress();
        Poll::Ready(value)
    }

    /// Receives up to `limit` values into `buffer`; 0 only if `limit` is, or if none will ever come.
    ///
    /// # Safety
    /// Only the receiver.
    pub(super) unsafe fn poll_recv_many(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut Vec<T>,
        limit: usize,
    ) -> Poll<usize> {
        let unit = ready!(budget::poll_proceed(cx));
        let mut count = 0;
        while count < limit {
            // SAFETY: passed on to the caller.
            let value = match unsafe { self.pop() } {
                Some(value) => value,
                None if count > 0 => break,
                // SAFETY: passed on to the caller.
                None => match ready!(unsafe { self.wait_for_value(cx.waker()) }) {
                    Some(value) => value,
                    None => break,
                },
            };
            buffer.push(value);
            count += 1;
        }
        if count > 0 {
            self.flow.received(self.words(), count);
        }
        unit.made_progress();
        Poll::Ready(count)
    }

    /// Receives a value if there is one. Waits for a sender that is in the middle of sending it.
    ///
    /// # Safety
    /// Only the receiver.
    pub(super) unsafe fn try_recv(&self) -> Result<T, TryRecvError> {
        let mut backoff = Backoff::new();
        loop {
            let finished = self.is_finished(self.tail.claims.load().is_closed());
            // SAFETY: passed on to the caller.
            if let Some(value) = unsafe { self.pop() } {
                self.flow.received(self.words(), 1);
                return Ok(value);
            }
            if finished {
                return Err(TryRecvError::Disconnected);
            }
            if self.len() == 0 {
                return Err(TryRecvError::Empty);
            }
            backoff.pause();
        }
    }

    /// Takes and drops all values that are left.
    ///
    /// # Safety
    /// Only the receiver, or who drops the channel.
    pub(super) unsafe fn drain(&self) {
        struct Rest<'a, T, F: Flow>(&'a Chan<T, F>);
        impl<T, F: Flow> Drop for Rest<'_, T, F> {
            // Goes on where a value's own `drop` has panicked.
            fn drop(&mut self) {
                // SAFETY: as in `drain`.
                while let Some(value) = unsafe { self.0.pop() } {
                    self.0.flow.received(self.0.words(), 1);
                    drop(value);
                }
            }
        }
        let rest = Rest(self);
        // SAFETY: passed on to the caller.
        while let Some(value) = unsafe { rest.0.pop() } {
            self.flow.received(self.words(), 1);
            drop(value);
        }
    }

    /// How many values have been or are being sent, and not been received.
    pub(super) fn len(&self) -> usize {
        self.tail.claims.load().in_flight(self.head.received.count())
    }

    /// Lets nobody send any more, and tells all who wait for that.
    pub(super) fn close(&self) {
        if self.is_closed() {
            return;
        }
        self.flow.close(self.words());
        self.closing.close();
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.tail.claims.load().is_closed()
    }

    /// Waits until the channel is closed.
    pub(super) async fn closed(&self) {
        let closed = self.closing.acquire(1).await;
        debug_assert!(closed.is_err(), "nobody releases permits there");
    }

    /// Drops the receiver's waker: it will not be polled any more.
    pub(super) fn drop_waker(&self) {
        drop(self.rx_waker.take());
    }
}

impl<T> Chan<T, Capacity> {
    pub(super) fn capacity(&self) -> &Capacity {
        &self.flow
    }

    /// Tells the receiver of a closed channel that nothing is under way any more, if so.
    fn after_release(&self) {
        if self.is_closed() && self.flow.is_idle(self.words()) {
            self.rx_waker.wake();
        }
    }
}

impl<T> PermitSource for Chan<T, Capacity> {
    #[inline]
    fn is_closed(&self) -> bool {
        self.is_closed()
    }

    #[inline]
    fn try_acquire(&self, n: usize) -> Result<(), TryAcquireError> {
        self.flow.try_acquire(self.words(), n)
    }

    #[inline]
    fn release(&self, n: usize) {
        self.flow.release(self.words(), n);
        self.after_release();
    }

    unsafe fn enqueue(
        &self,
        n: usize,
        waiter: NonNull<Waiter>,
        waker: &Waker,
    ) -> Result<Enqueued, AcquireError> {
        // SAFETY: passed on to the caller.
        unsafe { self.flow.enqueue(self.words(), n, waiter, waker) }
    }

    fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R {
        self.flow.with_queue(f)
    }

    unsafe fn leave(&self, n: usize, waiter: NonNull<Waiter>) {
        // SAFETY: passed on to the caller.
        unsafe { self.flow.leave(self.words(), n, waiter) };
        self.after_release();
    }
}

/// Who is still there.
impl<T, F> Chan<T, F> {
    pub(super) fn senders(&self) -> usize {
        self.senders.load(Acquire)
    }

    pub(super) fn weak_senders(&self) -> usize {
        self.weak_senders.load(Relaxed)
    }

    pub(super) fn add_sender(&self) {
        self.senders.fetch_add(1, Relaxed);
    }

    /// Adds a sender, if there is one left. True if it did.
    #[must_use]
    pub(super) fn add_sender_to_others(&self) -> bool {
        let add = |count| if count == 0 { None } else { Some(count + 1) };
        self.senders.fetch_update(AcqRel, Acquire, add).is_ok()
    }

    /// The last one tells the receiver.
    pub(super) fn remove_sender(&self) {
        if self.senders.fetch_sub(1, AcqRel) == 1 {
            self.rx_waker.wake();
        }
    }

    pub(super) fn add_weak_sender(&self) {
        self.weak_senders.fetch_add(1, Relaxed);
    }

    pub(super) fn remove_weak_sender(&self) {
        self.weak_senders.fetch_sub(1, Relaxed);
    }
}

impl<T, F> Drop for Chan<T, F> {
    fn drop(&mut self) {
        // What was sent by permits after the receiver had gone.
        FreeBlocks::all_of(self).drop_values();
    }
}

/// Frees all blocks when dropped, even by the panic of a value's own `drop`.
struct FreeBlocks<T> {
    block: NonNull<Block<T>>,
    position: u64,
    spares: [*mut Block<T>; SPARES],
}

impl<T> FreeBlocks<T> {
    fn all_of<F>(chan: &mut Chan<T, F>) -> Self {
        FreeBlocks {
            block: chan.head.block.get(),
            position: chan.head.position.get(),
            spares: std::array::from_fn(|i| chan.spares[i].load(Acquire)),
        }
    }

    fn drop_values(mut self) {
        // SAFETY: the channel is being dropped, so its blocks are ours alone; every ready slot from the
        // head's position on has a value that nobody took.
        unsafe {
            while self.block.as_ref().slot(self.position).is_ready() {
                let value = self.block.as_ref().slot(self.position).take();
                if is_last(self.position) {
                    let next =
                        self.block.as_ref().next().expect("set before the last is published");
                    Block::free(std::mem::replace(&mut self.block, next));
                }
                self.position += 1;
                drop(value);
            }
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
