//! The channel's two atomic words, and all their transitions.
//!
//! The **claim word** is written by the senders, and by a receiver that waits or closes:
//!
//! ```text
//!   63                 24         4         3           2         1        0
//!   ┌───────────────────┬─────────┬─────────┬───────────┬─────────┬────────┐
//!   │  tail (40 bits)   │ credits │ AWAITED │ SWITCHING │ WAITERS │ CLOSED │
//!   └───────────────────┴─────────┴─────────┴───────────┴─────────┴────────┘
//! ```
//!
//! - tail: the number of slots claimed so far, which is the position of the next slot. It wraps
//!   around after 2^40 values. That is harmless unless a thread is preempted between a load and a
//!   compare-and-swap for as long as 2^40 sends take, which is hours.
//! - credits: how many values senders may still send before they have to count what was received
//!   meanwhile. Always 0 in an unbounded channel, where sending costs no credit.
//! - AWAITED: the receiver waits for the slot at the tail. The sender that claims this slot clears
//!   the bit, and wakes the receiver once the value is in the slot.
//! - SWITCHING: a sender has claimed the last slot of a block, and is about to make the next block
//!   the current one. Other senders cannot claim until it has.
//! - WAITERS: senders are queued for room. Credits are 0, and stay 0 until the queue is empty.
//! - CLOSED: no new values are accepted, only those of slots and permits given out before.
//!
//! Sending into a channel that has room is one compare-and-swap of this word: one credit less, tail
//! plus one.
//!
//! The **received word** belongs to the receiver: the number of values it has taken, and in bit 0
//! whether senders wait for room. Senders make new credits from this number. So while no sender
//! waits for room, the receiver touches the claim word only before it waits itself.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use wakeful_base::sync::atomic::AtomicU64;

use crate::acquire_error::TryAcquireError;

const CLOSED: u64 = 1 << 0;
const WAITERS: u64 = 1 << 1;
const SWITCHING: u64 = 1 << 2;
const AWAITED: u64 = 1 << 3;
const CREDIT_SHIFT: u32 = 4;
const CREDIT: u64 = 1 << CREDIT_SHIFT;
const TAIL_SHIFT: u32 = 24;
const TAIL: u64 = 1 << TAIL_SHIFT;
const CREDITS: u64 = TAIL - CREDIT;

/// The most credits that fit into the claim word.
pub(super) const CREDITS_MAX: usize = (CREDITS >> CREDIT_SHIFT) as usize;

/// A snapshot of the claim word.
#[derive(Clone, Copy)]
pub(super) struct Claims(u64);

impl Claims {
    #[inline]
    pub(super) fn is_closed(self) -> bool {
        self.0 & CLOSED != 0
    }

    #[inline]
    pub(super) fn is_switching(self) -> bool {
        self.0 & SWITCHING != 0
    }

    #[inline]
    pub(super) fn has_waiters(self) -> bool {
        self.0 & WAITERS != 0
    }

    /// Returns whether the receiver waits for the slot that is claimed next.
    #[inline]
    pub(super) fn is_awaited(self) -> bool {
        self.0 & AWAITED != 0
    }

    #[inline]
    pub(super) fn credits(self) -> usize {
        ((self.0 & CREDITS) >> CREDIT_SHIFT) as usize
    }

    /// Returns the position of the slot that is claimed next.
    #[inline]
    pub(super) fn tail(self) -> u64 {
        self.0 >> TAIL_SHIFT
    }

    /// Returns how many slots have been claimed beyond the first `received`.
    #[inline]
    pub(super) fn in_flight(self, received: u64) -> usize {
        ((self.0 >> TAIL_SHIFT).wrapping_sub(received) & (u64::MAX >> TAIL_SHIFT)) as usize
    }
}

pub(super) struct ClaimWord(AtomicU64);

impl ClaimWord {
    pub(super) fn new(credits: usize) -> Self {
        debug_assert!(credits <= CREDITS_MAX, "more credits than the word can hold");
        ClaimWord(AtomicU64::new((credits as u64) << CREDIT_SHIFT))
    }

    #[inline]
    pub(super) fn load(&self) -> Claims {
        Claims(self.0.load(Acquire))
    }

    /// Claims the slot at the tail for `price` credits. With `switch`, prevents other claims until
    /// [`end_switch`](Self::end_switch). Fails with the current word if it is no longer `from`, or
    /// spuriously.
    #[inline]
    pub(super) fn claim(&self, from: Claims, price: u64, switch: bool) -> Result<(), Claims> {
        debug_assert!(!from.is_switching() && from.credits() as u64 >= price);
        let paid = (from.0.wrapping_add(TAIL) - price * CREDIT) & !AWAITED;
        let to = if switch { paid | SWITCHING } else { paid };
        let swapped = self.0.compare_exchange_weak(from.0, to, AcqRel, Acquire);
        swapped.map(drop).map_err(Claims)
    }

    /// Makes the sender that claims the slot at `position`, the next to be received, wake the
    /// receiver. Returns false if the slot has already been claimed.
    #[must_use]
    pub(super) fn wait_at(&self, position: u64) -> bool {
        let mut now = self.load();
        while now.in_flight(position) == 0 {
            match self.0.compare_exchange_weak(now.0, now.0 | AWAITED, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(changed) => now = Claims(changed),
            }
        }
        false
    }

    /// Allows claims again, after the caller has made the next block the current one.
    #[inline]
    pub(super) fn end_switch(&self) {
        let before = self.0.fetch_and(!SWITCHING, Release);
        debug_assert_ne!(before & SWITCHING, 0, "the block was not being switched");
    }

    /// Takes `n` credits, if the word has that many.
    #[inline]
    pub(super) fn take_credits(&self, n: usize) -> Result<(), TryAcquireError> {
        let mut now = self.load();
        loop {
            if now.is_closed() {
                return Err(TryAcquireError::Closed);
            }
            if now.credits() < n {
                return Err(TryAcquireError::NoPermits);
            }
            match self.set_credits(now, now.credits() - n) {
                Ok(()) => return Ok(()),
                Err(changed) => now = changed,
            }
        }
    }

    /// Adds `n` credits, and returns true. Returns false if senders are queued for them, or if they
    /// do not fit into the word.
    #[inline]
    #[must_use]
    pub(super) fn put_credits(&self, n: usize) -> bool {
        let mut now = self.load();
        loop {
            if now.has_waiters() || n > CREDITS_MAX - now.credits() {
                return false;
            }
            match self.set_credits(now, now.credits() + n) {
                Ok(()) => return true,
                Err(changed) => now = changed,
            }
        }
    }

    /// Replaces the credits. Fails with the current word if it is no longer `from`, or spuriously.
    #[inline]
    pub(super) fn set_credits(&self, from: Claims, credits: usize) -> Result<(), Claims> {
        let to = from.0 & !CREDITS | (credits as u64) << CREDIT_SHIFT;
        let swapped = self.0.compare_exchange_weak(from.0, to, AcqRel, Acquire);
        swapped.map(drop).map_err(Claims)
    }

    /// Sets WAITERS, and takes all credits out of the word and returns them. Only under the lock of
    /// `Capacity`.
    pub(super) fn set_waiters(&self) -> Result<usize, TryAcquireError> {
        let mut now = self.load();
        while !now.is_closed() {
            let to = now.0 & !CREDITS | WAITERS;
            match self.0.compare_exchange_weak(now.0, to, AcqRel, Acquire) {
                Ok(_) => return Ok(now.credits()),
                Err(changed) => now = Claims(changed),
            }
        }
        Err(TryAcquireError::Closed)
    }

    /// Clears WAITERS, and puts `credits` into the word. Only under the lock of `Capacity`, while
    /// WAITERS is set.
    pub(super) fn clear_waiters(&self, credits: usize) {
        let before =
            self.0.fetch_add(((credits as u64) << CREDIT_SHIFT).wrapping_sub(WAITERS), AcqRel);
        debug_assert_eq!(
            before & (CREDITS | WAITERS),
            WAITERS,
            "the word has credits although senders wait"
        );
    }

    /// Closes the channel: only senders that hold a permit can still claim slots.
    pub(super) fn close(&self) {
        self.0.fetch_or(CLOSED, AcqRel);
    }
}

const RECEIVED_WAITERS: u64 = 1;
const RECEIVED_ONE: u64 = 2;

pub(super) struct ReceivedWord(AtomicU64);

impl ReceivedWord {
    pub(super) fn new() -> Self {
        ReceivedWord(AtomicU64::new(0))
    }

    /// Returns the number of values received.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.0.load(Acquire) / RECEIVED_ONE
    }

    /// Counts `n` more values. Returns true if senders wait for room.
    #[inline]
    #[must_use]
    pub(super) fn add(&self, n: usize) -> bool {
        self.0.fetch_add(n as u64 * RECEIVED_ONE, AcqRel) & RECEIVED_WAITERS != 0
    }

    /// Counts `n` more values in an unbounded channel, where senders never wait. Only the receiver
    /// writes the word there, so no read-modify-write is needed.
    #[inline]
    pub(super) fn add_unbounded(&self, n: usize) {
        let count = self.0.load(Relaxed);
        self.0.store(count + n as u64 * RECEIVED_ONE, Release);
    }

    /// Makes [`add`](Self::add) return true from now on, and returns the current count.
    pub(super) fn set_waiters(&self) -> u64 {
        self.0.fetch_or(RECEIVED_WAITERS, AcqRel) / RECEIVED_ONE
    }

    /// Makes [`add`](Self::add) return false again.
    pub(super) fn clear_waiters(&self) {
        self.0.fetch_and(!RECEIVED_WAITERS, AcqRel);
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_tail_wraps_around() {
        let last = u64::MAX >> TAIL_SHIFT;
        let word = ClaimWord(AtomicU64::new((last << TAIL_SHIFT) | (2 * CREDIT)));
        // The receiver's positions do not wrap around, unlike the tail.
        assert!(word.wait_at(last));
        assert!(word.load().is_awaited());
        // A claim may fail spuriously.
        let claim_one = || while word.claim(word.load(), 1, false).is_err() {};
        claim_one();
        assert!(!word.load().is_awaited());
        assert_eq!((word.load().tail(), word.load().credits()), (0, 1));
        assert_eq!(word.load().in_flight(last), 1);
        assert!(!word.wait_at(last));
        assert!(word.wait_at(last + 1));
        claim_one();
        assert_eq!((word.load().tail(), word.load().credits()), (1, 0));
        assert_eq!(word.load().in_flight(last), 2);
    }
}
