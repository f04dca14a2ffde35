//! The room in a bounded channel, counted in permits: what a value in it costs.
//!
//! ```text
//!                 claim, take_credits            recv
//!   credits in the ─────────────────▶ permits ─────────▶ the received word
//!   claim word  ◀─────────────────── and values           │
//!        ▲        put_credits                             │ collect: when the credits run out,
//!        │                                                ▼ or somebody listens
//!        └────────────── settle, rebalance ──────────── locked ──deal──▶ waiters, in their order
//! ```
//!
//! Each permit is in one of these places, and there are `bound` in all:
//! - credits in the claim word, free for anybody, taken and put without a lock;
//! - out: a [`Permit`](super::Permit), or a value in the channel;
//! - received, and not yet counted;
//! - in the locked, under its lock: what does not fit into the claim word;
//! - assigned to a waiter.
//!
//! Invariant, seen under the lock: while somebody is queued there are neither credits nor permits in the
//! locked, and both words say so. Hence nobody overtakes, and whoever has a permit to give finds out.

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
    /// How many of the received values have been turned into permits.
    counted: u64,
    queue: PermitQueue,
}

/// The channel's words, which the capacity is kept in but for the locked.
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
    /// Room for `bound` values, and how much of it is to be put into the claim word.
    pub(super) fn new(bound: usize) -> (Self, usize) {
        let credits = bound.min(CREDITS_MAX);
        let locked =
            LockedPermits { permits: bound - credits, counted: 0, queue: PermitQueue::new() };
        (Capacity { bound, locked: Mutex::new(locked) }, credits)
    }

    pub(super) fn bound(&self) -> usize {
        self.bound
    }

    /// How many permits are free.
    pub(super) fn available(&self, words: Words<'_>) -> usize {
        let locked = self.locked.lock();
        let uncounted = (words.received.count() - locked.counted) as usize;
        locked.permits + uncounted + words.claims.load().credits()
    }

    /// Takes `n` permits, if there are so many and nobody waits.
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

    /// Takes `n` permits out of locked and claim word together, and moves what the locked has into the word.
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

    /// Takes `n` permits, or queues `waiter` for them.
    ///
    /// # Safety
    /// As for [`PermitQueue::push`].
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
            // From here on, whoever has permits to give must come for the lock.
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
                // SAFETY: passed on to the caller.
                unsafe { locked.queue.push(waiter, n - assigned, waker) };
                return Ok(Enqueued::Waiting);
            }
            locked.permits -= n;
            Self::clear_waiters(&mut locked, words);
        }
        drop(locked);
        // The clone was not needed. The permits, which are the caller's, must not be lost by its drop.
        contain_panic(|| drop(waker));
        match taken {
            Err(TryAcquireError::Closed) => Err(AcquireError::closed()),
            _ => Ok(Enqueued::Granted),
        }
    }

    /// Gives `n` permits back.
    #[inline]
    pub(super) fn release(&self, words: Words<'_>, n: usize) {
        if !words.claims.put_credits(n) {
            self.distribute(words, self.locked.lock(), n);
        }
    }

    /// Counts `n` received values, whose permits are free again.
    #[inline]
    pub(super) fn received(&self, words: Words<'_>, n: usize) {
        if words.received.add(n) {
            self.distribute(words, self.locked.lock(), 0);
        }
    }

    /// Takes `waiter` out of the queue and gives back what it was assigned of `n` permits.
    ///
    /// # Safety
    /// As for [`PermitQueue::remove`].
    #[cold]
    pub(super) unsafe fn leave(&self, words: Words<'_>, n: usize, waiter: NonNull<Waiter>) {
        let mut locked = self.locked.lock();
        // SAFETY: passed on to the caller.
        let assigned = unsafe { locked.queue.remove(waiter, n) };
        self.distribute(words, locked, assigned);
    }

    /// Gives out no more permits, and wakes all who wait for some.
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

    pub(super) fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R {
        f(&mut self.locked.lock().queue)
    }

    /// Puts `n` permits and all that were received into the locked, and deals them to those who wait.
    ///
    /// Contains the panics of their wakers: the caller may hold a value that it has received or is to return.
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
            *permits = queue.deal(*permits, &mut wakers);
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

    /// The queue is empty again: takes the announcements back, and makes credits of what is in the locked.
    fn clear_waiters(locked: &mut LockedPermits, words: Words<'_>) {
        debug_assert!(locked.queue.is_empty(), "somebody still waits");
        words.received.clear_waiters();
        let credits = locked.permits.min(CREDITS_MAX);
        locked.permits -= credits;
        words.claims.clear_waiters(credits);
    }
}
