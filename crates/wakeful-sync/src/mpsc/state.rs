//! The channel's two words, and all their transitions.
//!
//! The **claim word** belongs to the senders:
//!
//! ```text
//!   63                 24         4         3           2         1        0
//!   ┌───────────────────┬─────────┬─────────┬───────────┬─────────┬────────┐
//!   │  tail (40 bits)   │ credits │ AWAITED │ SWITCHING │ WAITERS │ CLOSED │
//!   └───────────────────┴─────────┴─────────┴───────────┴─────────┴────────┘
//! ```
//!
//! - tail: how many slots have been claimed, so the position of the next. It wraps around, which nobody
//!   notices as long as a thread does not sleep between a load and a compare-and-swap for hours.
//! - credits: how many values may still be sent without a look at what was received meanwhile. Always 0
//!   in an unbounded channel, where sending costs none.
//! - AWAITED: the receiver waits for the slot at the tail. Who claims it takes this back, and wakes the
//!   receiver once the value is there.
//! - SWITCHING: the last slot of a block has been claimed, and its claimer is about to make the next
//!   block the current one. Nobody else claims until it has.
//! - WAITERS: senders are queued for room; credits are 0 and stay so until the queue is empty.
//! - CLOSED: the receiver takes no more than what is under way.
//!
//! To send into a channel that has room is one compare-and-swap here: a credit less, the tail one up.
//!
//! The **received word** belongs to the receiver: how many values it has taken, and in bit 0 whether
//! senders wait to hear of that. It is what senders make new credits from; that is why a receiver that
//! nobody waits for touches the claim word only when it has to wait itself.

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

/// As many credits as fit into the claim word.
pub(super) const CREDITS_MAX: usize = (CREDITS >> CREDIT_SHIFT) as usize;

/// What the claim word said at some moment.
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

    /// Whether the receiver waits for the slot to be claimed next.
    #[inline]
    pub(super) fn is_awaited(self) -> bool {
        self.0 & AWAITED != 0
    }

    #[inline]
    pub(super) fn credits(self) -> usize {
        ((self.0 & CREDITS) >> CREDIT_SHIFT) as usize
    }

    /// The position of the slot to be claimed next.
    #[inline]
    pub(super) fn tail(self) -> u64 {
        self.0 >> TAIL_SHIFT
    }

    /// How many of the claimed slots are beyond the first `received`.
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

    /// Claims the slot at the tail for `price` credits; with `switch`, stops others from claiming until
    /// [`end_switch`](Self::end_switch). Fails with what the word is by now.
    #[inline]
    pub(super) fn claim(&self, from: Claims, price: u64, switch: bool) -> Result<(), Claims> {
        debug_assert!(!from.is_switching() && from.credits() as u64 >= price);
        let paid = (from.0.wrapping_add(TAIL) - price * CREDIT) & !AWAITED;
        let to = if switch { paid | SWITCHING } else { paid };
        let swapped = self.0.compare_exchange_weak(from.0, to, AcqRel, Acquire);
        swapped.map(drop).map_err(Claims)
    }

    /// Makes whoever claims the slot at `position`, the next to be received, wake the receiver. False if it
    /// has been claimed already.
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

    /// Lets others claim again: the next block is in its place.
    #[inline]
    pub(super) fn end_switch(&self) {
        let before = self.0.fetch_and(!SWITCHING, Release);
        debug_assert_ne!(before & SWITCHING, 0, "only who began a switch ends it");
    }

    /// Takes `n` credits, if so many are in the word.
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

    /// Puts `n` credits, unless somebody waits for them or they do not fit. True if it did.
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

    /// Replaces the credits, if the word is still what the caller saw.
    #[inline]
    pub(super) fn set_credits(&self, from: Claims, credits: usize) -> Result<(), Claims> {
        let to = from.0 & !CREDITS | (credits as u64) << CREDIT_SHIFT;
        let swapped = self.0.compare_exchange_weak(from.0, to, AcqRel, Acquire);
        swapped.map(drop).map_err(Claims)
    }

    /// Announces a waiter, and returns the credits there were. Only under the locked's lock.
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

    /// Nobody waits any more, and there are `credits`. Only under the locked's lock, after an announcement.
    pub(super) fn clear_waiters(&self, credits: usize) {
        let before =
            self.0.fetch_add(((credits as u64) << CREDIT_SHIFT).wrapping_sub(WAITERS), AcqRel);
        debug_assert_eq!(
            before & (CREDITS | WAITERS),
            WAITERS,
            "waiters leave no credits in the word"
        );
    }

    /// Lets nobody claim any more who does not have the right to already.
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

    /// How many values have been received.
    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.0.load(Acquire) / RECEIVED_ONE
    }

    /// Counts `n` more values. True if senders wait to hear of it.
    #[inline]
    #[must_use]
    pub(super) fn add(&self, n: usize) -> bool {
        self.0.fetch_add(n as u64 * RECEIVED_ONE, AcqRel) & RECEIVED_WAITERS != 0
    }

    /// As [`add`](Self::add) where nobody ever listens.
    #[inline]
    pub(super) fn add_unbounded(&self, n: usize) {
        let count = self.0.load(Relaxed);
        self.0.store(count + n as u64 * RECEIVED_ONE, Release);
    }

    /// Makes `add` tell that somebody listens; returns the count up to now.
    pub(super) fn set_waiters(&self) -> u64 {
        self.0.fetch_or(RECEIVED_WAITERS, AcqRel) / RECEIVED_ONE
    }

    /// Nobody listens any more.
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
        // A receiver counts on where the word begins anew.
        assert!(word.wait_at(last));
        assert!(word.load().is_awaited());
        assert!(word.claim(word.load(), 1, false).is_ok());
        assert!(!word.load().is_awaited());
        assert_eq!((word.load().tail(), word.load().credits()), (0, 1));
        assert_eq!(word.load().in_flight(last), 1);
        assert!(!word.wait_at(last));
        assert!(word.wait_at(last + 1));
        assert!(word.claim(word.load(), 1, false).is_ok());
        assert_eq!((word.load().tail(), word.load().credits()), (1, 0));
        assert_eq!(word.load().in_flight(last), 2);
    }
}
