//! The room in a bounded channel, counted in permits. Each value in the channel holds one permit.
//!
//! ```text
//!                 claim, take_credits            recv
//!   credits in the ─────────────────▶ permits ─────────▶ the received word
//!   claim word  ◀─────────────────── and values           │
//!        ▲        put_credits                             │ count_received: when the credits run
//!        │                                                ▼ out, or senders are queued
//!        └─────── clear_waiters, rebalance ──── locked permits ──distribute──▶ waiters, in order
//! ```
//!
//! Each permit is in one of these places, and there are `bound` in all:
//! - a credit in the claim word, which any sender can take and give back without a lock;
//! - held by a sender: a [`Permit`](super::Permit), or a value in the channel;
//! - received: counted in the received word, but not yet added to the locked permits;
//! - locked: in `LockedPermits`, under its lock. These do not fit into the claim word;
//! - assigned to a waiter in the queue.
//!
//! Invariant, which holds whenever the lock is free: while senders are queued, there are no
//! credits, and both words are marked (WAITERS, and the bit of the received word). So no sender can
//! overtake the queue, and a thread that has a permit to give sees the mark and takes the lock.
//! There are no locked permits either, except while `distribute` has released the lock to wake a
//! batch of senders; it assigns the rest afterwards.

use std::ptr::NonNull;
use std::task::Waker;

use wakeful_base::sync::{Mutex, MutexGuard};

use super::state::{CREDITS_MAX, ClaimWord, ReceivedWord};
use crate::acquire::Enqueued;
use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::permit_queue::{PermitQueue, Waiter};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::{WakeList, call_now};

pub(super) struct Capacity {
    bound: usize,
    locked: Mutex<LockedPermits>,
}

struct LockedPermits {
    permits: usize,
    /// How many of the received values have been added to `permits`.
    counted: u64,
    queue: PermitQueue,
}

/// The channel's two atomic words, where most of the capacity is kept.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) claims: &'a ClaimWord,
    pub(super) received: &'a ReceivedWord,
}

impl LockedPermits {
    fn count_received(&mut self, received: u64) {
        self.permits += (received - self.counted) as usize;
        self.counted = received;
    }
}

impl Capacity {
    /// Creates room for `bound` values. Also returns the number of credits to put into the claim
    /// word.
    pub(super) fn new(bound: usize) -> (Self, usize) {
        let credits = bound.min(CREDITS_MAX);
        let locked =
            LockedPermits { permits: bound - credits, counted: 0, queue: PermitQueue::new() };
        (Capacity { bound, locked: Mutex::new(locked) }, credits)
    }

    pub(super) fn bound(&self) -> usize {
        self.bound
    }

    /// Returns the number of free permits.
    pub(super) fn available(&self, words: Words<'_>) -> usize {
        let locked = self.locked.lock();
        let uncounted = (words.received.count() - locked.counted) as usize;
        locked.permits + uncounted + words.claims.load().credits()
    }

    /// Takes `n` permits, if that many are free and no sender is queued.
    #[inline]
    pub(super) fn try_acquire(&self, words: Words<'_>, n: usize) -> Result<(), TryAcquireError> {
        match words.claims.take_credits(n) {
            Err(TryAcquireError::NoPermits) => self.try_acquire_slow(words, n),
            outcome => outcome,
        }
    }

    #[cold]
    fn try_acquire_slow(&self, words: Words<'_>, n: usize) -> Result<(), TryAcquireError> {
        self.rebalance(&mut self.locked.lock(), words, n)
    }

    /// Takes `n` permits out of the locked permits and the claim word together, and moves as many
    /// of the rest as fit into the claim word.
    fn rebalance(
        &self,
        locked: &mut LockedPermits,
        words: Words<'_>,
        n: usize,
    ) -> Result<(), TryAcquireError> {
        if !locked.queue.is_empty() {
            return Err(TryAcquireError::NoPermits);
        }
        locked.count_received(words.received.count());
        let mut claims = words.claims.load();
        loop {
            if claims.is_closed() {
                return Err(TryAcquireError::Closed);
            }
            let Some(rest) = (locked.permits + claims.credits()).checked_sub(n) else {
                return Err(TryAcquireError::NoPermits);
            };
            let credits = rest.min(CREDITS_MAX);
            match words.claims.set_credits(claims, credits) {
                Ok(()) => {
                    locked.permits = rest - credits;
                    return Ok(());
                }
                Err(changed) => claims = changed,
            }
        }
    }

    /// Takes `n` permits, or queues `waiter` for them and assigns to it the permits there are.
    ///
    /// # Safety
    /// The caller must uphold the contract of [`PermitQueue::push`] for `waiter`.
    #[cold]
    pub(super) unsafe fn enqueue(
        &self,
        words: Words<'_>,
        n: usize,
        waiter: NonNull<Waiter>,
        waker: &Waker,
    ) -> Result<Enqueued, AcquireError> {
        let waker = waker.clone();
        let mut locked = self.locked.lock();
        let taken = self.rebalance(&mut locked, words, n);
        if let Err(TryAcquireError::NoPermits) = taken {
            // From here on, a thread that has permits to give takes the lock.
            let Ok(credits) = words.claims.set_waiters() else {
                drop(locked);
                return Err(AcquireError::closed());
            };
            locked.permits += credits;
            let received = words.received.set_waiters();
            locked.count_received(received);
            if !locked.queue.is_empty() || locked.permits < n {
                let assigned =
                    if locked.queue.is_empty() { std::mem::take(&mut locked.permits) } else { 0 };
                // SAFETY: the caller upholds the contract of `push`, and the lock is held.
                unsafe { locked.queue.push(waiter, n - assigned, None, waker) };
                return Ok(Enqueued::Waiting);
            }
            locked.permits -= n;
            Self::clear_waiters(&mut locked, words);
        }
        drop(locked);
        // The clone was not used. If its drop panicked, the caller's permits would be lost.
        contain_panic(|| drop(waker));
        match taken {
            Err(TryAcquireError::Closed) => Err(AcquireError::closed()),
            _ => Ok(Enqueued::Granted),
        }
    }

    /// Releases `n` permits.
    #[inline]
    pub(super) fn release(&self, words: Words<'_>, n: usize) {
        if !words.claims.put_credits(n) {
            self.distribute(words, self.locked.lock(), n);
        }
    }

    /// Counts `n` received values and releases their permits.
    #[inline]
    pub(super) fn received(&self, words: Words<'_>, n: usize) {
        if words.received.add(n) {
            self.distribute(words, self.locked.lock(), 0);
        }
    }

    /// Removes `waiter` from the queue, and releases what was assigned to it of `n` permits.
    ///
    /// # Safety
    /// The caller must uphold the contract of [`PermitQueue::remove`] for `waiter`.
    #[cold]
    pub(super) unsafe fn leave(&self, words: Words<'_>, n: usize, waiter: NonNull<Waiter>) {
        let mut locked = self.locked.lock();
        // SAFETY: the caller upholds the contract of `remove`, and the lock is held.
        let assigned = unsafe { locked.queue.remove(waiter, n) };
        self.distribute(words, locked, assigned);
    }

    /// Refuses further permits, and wakes all queued senders.
    pub(super) fn close(&self, words: Words<'_>) {
        let mut locked = self.locked.lock();
        words.claims.close();
        let mut wakers = WakeList::new();
        while !locked.queue.is_empty() {
            locked.queue.remove_all(&mut wakers);
            if locked.queue.is_empty() {
                Self::clear_waiters(&mut locked, words);
            }
            drop(locked);
            wakers.wake_batch();
            locked = self.locked.lock();
        }
        drop(locked);
        wakers.wake_all();
    }

    /// Returns the number of waiting senders, or `max` if there are more.
    pub(super) fn waiting_up_to(&self, max: usize) -> usize {
        self.locked.lock().queue.len_up_to(max)
    }

    pub(super) fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R {
        f(&mut self.locked.lock().queue)
    }

    /// Adds `n` permits and those of all received values to the locked permits, and assigns them to
    /// queued senders.
    ///
    /// Contains panics of their wakers: the caller may hold a value that it has received, or has to
    /// return.
    #[cold]
    fn distribute<'a>(
        &'a self,
        words: Words<'_>,
        mut locked: MutexGuard<'a, LockedPermits>,
        n: usize,
    ) {
        let mut wakers = WakeList::new();
        locked.permits += n;
        loop {
            locked.count_received(words.received.count());
            let LockedPermits { permits, queue, .. } = &mut *locked;
            *permits = queue.assign(*permits, &mut wakers, |_| ());
            let is_done = *permits == 0 || queue.is_empty();
            if queue.is_empty() && words.claims.load().has_waiters() {
                Self::clear_waiters(&mut locked, words);
            }
            drop(locked);
            wakers.take_all(call_now);
            if is_done {
                return;
            }
            locked = self.locked.lock();
        }
    }

    /// Clears the marks in both words after the queue has become empty, and makes credits of the
    /// locked permits.
    fn clear_waiters(locked: &mut LockedPermits, words: Words<'_>) {
        debug_assert!(locked.queue.is_empty(), "senders are still waiting");
        words.received.clear_waiters();
        let credits = locked.permits.min(CREDITS_MAX);
        locked.permits -= credits;
        words.claims.clear_waiters(credits);
    }
}
