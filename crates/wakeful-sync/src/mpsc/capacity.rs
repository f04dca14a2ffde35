//! The room in a bounded channel, counted in permits: what a value in it costs.
//!
//! ```text
//!                 claim, take_credits            recv
//!   credits in the ─────────────────▶ permits ─────────▶ the received word
//!   claim word  ◀─────────────────── and values           │
//!        ▲        put_credits                             │ collect: when the credits run out,
//!        │                                                ▼ or somebody listens
//!        └────────────── settle, rebalance ──────────── bank ──deal──▶ waiters, in their order
//! ```
//!
//! Each permit is in one of these places, and there are `bound` in all:
//! - credits in the claim word, free for anybody, taken and put without a lock;
//! - out: a [`Permit`](super::Permit), or a value in the channel;
//! - received, and not yet collected;
//! - in the bank, under its lock: what does not fit into the claim word;
//! - dealt to a waiter.
//!
//! Invariant, seen under the lock: while somebody is queued there are neither credits nor permits in the
//! bank, and both words say so. Hence nobody overtakes, and whoever has a permit to give finds out.

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
    bank: Mutex<Bank>,
}

struct Bank {
    permits: usize,
    /// How many of the received values have been turned into permits.
    collected: u64,
    queue: PermitQueue,
}

/// The channel's words, which the capacity is kept in but for the bank.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) claims: &'a ClaimWord,
    pub(super) received: &'a ReceivedWord,
}

impl Bank {
    fn collect(&mut self, received: u64) {
        self.permits += (received - self.collected) as usize;
        self.collected = received;
    }
}

impl Capacity {
    /// Room for `bound` values, and how much of it is to be put into the claim word.
    pub(super) fn new(bound: usize) -> (Self, usize) {
        let credits = bound.min(CREDITS_MAX);
        let bank = Bank { permits: bound - credits, collected: 0, queue: PermitQueue::new() };
        (Capacity { bound, bank: Mutex::new(bank) }, credits)
    }

    pub(super) fn bound(&self) -> usize {
        self.bound
    }

    /// How many permits are free.
    pub(super) fn available(&self, words: Words<'_>) -> usize {
        let bank = self.bank.lock();
        let uncollected = (words.received.count() - bank.collected) as usize;
        bank.permits + uncollected + words.claims.load().credits()
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
        self.rebalance(&mut self.bank.lock(), words, n)
    }

    /// Takes `n` permits out of bank and claim word together, and moves what the bank has into the word.
    fn rebalance(
        &self,
        bank: &mut Bank,
        words: Words<'_>,
        n: usize,
    ) -> Result<(), TryAcquireError> {
        if !bank.queue.is_empty() {
            return Err(TryAcquireError::NoPermits);
        }
        bank.collect(words.received.count());
        let mut claims = words.claims.load();
        loop {
            if claims.is_closed() {
                return Err(TryAcquireError::Closed);
            }
            let Some(rest) = (bank.permits + claims.credits()).checked_sub(n) else {
                return Err(TryAcquireError::NoPermits);
            };
            let credits = rest.min(CREDITS_MAX);
            match words.claims.set_credits(claims, credits) {
                Ok(()) => {
                    bank.permits = rest - credits;
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
        let mut bank = self.bank.lock();
        let taken = self.rebalance(&mut bank, words, n);
        if let Err(TryAcquireError::NoPermits) = taken {
            // From here on, whoever has permits to give must come for the lock.
            let Ok(credits) = words.claims.announce() else {
                drop(bank);
                return Err(AcquireError::closed());
            };
            bank.permits += credits;
            let received = words.received.listen();
            bank.collect(received);
            if !bank.queue.is_empty() || bank.permits < n {
                let dealt =
                    if bank.queue.is_empty() { std::mem::take(&mut bank.permits) } else { 0 };
                // SAFETY: passed on to the caller.
                unsafe { bank.queue.push(waiter, n - dealt, waker) };
                return Ok(Enqueued::Waiting);
            }
            bank.permits -= n;
            Self::settle(&mut bank, words);
        }
        drop(bank);
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
            self.deal(words, self.bank.lock(), n);
        }
    }

    /// Counts `n` received values, whose permits are free again.
    #[inline]
    pub(super) fn received(&self, words: Words<'_>, n: usize) {
        if words.received.add(n) {
            self.deal(words, self.bank.lock(), 0);
        }
    }

    /// Takes `waiter` out of the queue and gives back what it was dealt of `n` permits.
    ///
    /// # Safety
    /// As for [`PermitQueue::remove`].
    #[cold]
    pub(super) unsafe fn leave(&self, words: Words<'_>, n: usize, waiter: NonNull<Waiter>) {
        let mut bank = self.bank.lock();
        // SAFETY: passed on to the caller.
        let dealt = unsafe { bank.queue.remove(waiter, n) };
        self.deal(words, bank, dealt);
    }

    /// Gives out no more permits, and wakes all who wait for some.
    pub(super) fn close(&self, words: Words<'_>) {
        let mut bank = self.bank.lock();
        words.claims.close();
        let mut wakers = WakeList::new();
        while !bank.queue.is_empty() {
            bank.queue.remove_all(&mut wakers);
            if bank.queue.is_empty() {
                Self::settle(&mut bank, words);
            }
            drop(bank);
            wakers.wake_batch();
            bank = self.bank.lock();
        }
        drop(bank);
        wakers.wake_all();
    }

    pub(super) fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R {
        f(&mut self.bank.lock().queue)
    }

    /// Puts `n` permits and all that were received into the bank, and deals them to those who wait.
    ///
    /// Contains the panics of their wakers: the caller may hold a value that it has received or is to return.
    #[cold]
    fn deal<'a>(&'a self, words: Words<'_>, mut bank: MutexGuard<'a, Bank>, n: usize) {
        let mut wakers = WakeList::new();
        bank.permits += n;
        loop {
            bank.collect(words.received.count());
            let Bank { permits, queue, .. } = &mut *bank;
            *permits = queue.deal(*permits, &mut wakers);
            let ended = *permits == 0 || queue.is_empty();
            if queue.is_empty() && words.claims.load().has_waiters() {
                Self::settle(&mut bank, words);
            }
            drop(bank);
            wakers.take_all(call_now);
            if ended {
                return;
            }
            bank = self.bank.lock();
        }
    }

    /// The queue is empty again: takes the announcements back, and makes credits of what is in the bank.
    fn settle(bank: &mut Bank, words: Words<'_>) {
        debug_assert!(bank.queue.is_empty(), "somebody still waits");
        words.received.stop_listening();
        let credits = bank.permits.min(CREDITS_MAX);
        bank.permits -= credits;
        words.claims.settle(credits);
    }
}
