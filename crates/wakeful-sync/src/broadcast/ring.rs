//! The ring of slots that the ends of a broadcast channel share.
//!
//! Values are numbered as they are sent, and number `n` goes into slot `n` modulo the size. The
//! number of the next value is the round of a wait queue, whose flag says that the channel is
//! closed. So a receiver sees with one load how far behind it is, and if it is not behind, enters
//! the queue with one compare-and-swap.
//!
//! ```text
//!            oldest                    next to be sent = round of `queue`
//!              ▼                         ▼
//!   ┌────┬────┬────┬────┬────┬────┬────┬────┐    each slot: number, value, and how many
//!   │    │    │  v │  v │  v │  v │  v │    │    receivers have yet to take it; the last
//!   └────┴────┴────┴────┴────┴────┴────┴────┘    of them drops the value
//!                        ▲         ▲
//!                    a receiver's `next`, each its own
//! ```
//!
//! Lock order: a slot, then the wait queue. A slot's lock is held while its value is cloned, which
//! is user code and may take long; the queue's lock is never held during user code. So a sender
//! first locks the slot it is going to write, then the queue. If another sender was faster, it
//! tries the next slot.

use std::task::Waker;

use wakeful_base::catch_panic::contain_panic;
use wakeful_base::on_unwind::hold_during;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wakeful_base::sync::{Mutex, MutexGuard};
use wakeful_base::waiting::{LeafDetails, WaitKind, address, note_with};

use super::error::{SendError, TryRecvError};
use crate::Notify;
use crate::wait_queue::{Round, WaitQueue, Word};

/// The maximum number of receivers of a channel, chosen so that counts cannot overflow.
const RECEIVERS_MAX: usize = usize::MAX >> 2;

pub(super) struct Ring<T> {
    slots: Box<[Mutex<RingSlot<T>>]>,
    /// The number of slots, which is a power of two, minus one.
    mask: usize,
    pub(super) queue: WaitQueue,
    /// Changed only under the queue's lock, so that a value is counted for exactly the receivers
    /// that will take it.
    receivers: AtomicUsize,
    pub(super) senders: AtomicUsize,
    pub(super) weak_senders: AtomicUsize,
    /// Notified when the last receiver is dropped.
    pub(super) no_receivers: Notify,
}

struct RingSlot<T> {
    number: Round,
    /// How many receivers have yet to take the value.
    remaining: usize,
    value: Option<T>,
}

impl<T> Ring<T> {
    /// Creates the ring of a channel with one sender and `receivers` receivers.
    #[track_caller]
    pub(super) fn new(capacity: usize, receivers: usize) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`"
        );
        let size = capacity.next_power_of_two();
        let slots = (0..size)
            .map(|_| Mutex::new(RingSlot { number: Round::FIRST, remaining: 0, value: None }))
            .collect();
        Ring {
            slots,
            mask: size - 1,
            queue: WaitQueue::new(Word::new(receivers == 0)),
            receivers: AtomicUsize::new(receivers),
            senders: AtomicUsize::new(1),
            weak_senders: AtomicUsize::new(0),
            no_receivers: Notify::new(),
        }
    }

    fn slot(&self, number: Round) -> MutexGuard<'_, RingSlot<T>> {
        self.slots[number.slot(self.mask)].lock()
    }

    fn size(&self) -> u64 {
        self.slots.len() as u64
    }

    pub(super) fn next_number(&self) -> Round {
        self.queue.load().round()
    }

    pub(super) fn receiver_count(&self) -> usize {
        self.receivers.load(Relaxed)
    }

    /// Adds a receiver; returns the number of the first value it will take.
    pub(super) fn add_receiver(&self) -> Round {
        let mut line = self.queue.lock();
        let count = self.receivers.load(Relaxed);
        assert!(count < RECEIVERS_MAX, "a broadcast channel has too many receivers: max receivers");
        self.receivers.store(count + 1, Relaxed);
        if count == 0 {
            // The channel was closed because it had no receivers. Its senders are not all dropped:
            // one of them is calling this.
            let open = line.word().with_flag(false);
            line.set_word(open);
        }
        line.word().round()
    }

    /// Removes a receiver; returns the number of the first value that is not counted for it, and
    /// whether it was the last receiver.
    pub(super) fn remove_receiver(&self) -> (Round, bool) {
        let mut line = self.queue.lock();
        let left = self.receivers.load(Relaxed) - 1;
        self.receivers.store(left, Relaxed);
        if left == 0 {
            let closed = line.word().with_flag(true);
            line.set_word(closed);
        }
        (line.word().round(), left == 0)
    }

    /// Puts `value` into the next slot and wakes waiting receivers; returns how many will take it.
    pub(super) fn send(&self, value: T) -> Result<usize, SendError<T>> {
        let mut word = self.queue.load_unlocked();
        loop {
            let mut slot = self.slot(word.round());
            let mut line = match self.queue.lock_changing(word, word) {
                Ok(line) => line,
                Err(now) => {
                    word = now;
                    continue;
                }
            };
            let receivers = self.receivers.load(Relaxed);
            if receivers == 0 {
                return Err(SendError(value));
            }
            let old = slot.value.replace(value);
            (slot.number, slot.remaining) = (word.round(), receivers);
            line.set_word(word.in_next_round());
            drop(slot);
            drop(hold_during(old, |_| line.release_stale()));
            return Ok(receivers);
        }
    }

    /// Closes the channel, because all senders are dropped.
    pub(super) fn close(&self) {
        if let Some(line) = self.queue.update(|word| word.with_flag(true)) {
            line.release_stale();
        }
    }

    /// Locks the value with number `next`, and increments `next`.
    pub(super) fn take(&self, next: &mut Round) -> Result<ValueGuard<'_, T>, TryRecvError> {
        let mut word = self.queue.load();
        loop {
            let waiting = word.round().since(*next);
            if waiting == 0 {
                let closed = word.flag();
                return Err(if closed { TryRecvError::Closed } else { TryRecvError::Empty });
            }
            if waiting > self.size() {
                *next = word.round().minus(self.size());
                return Err(TryRecvError::Lagged(waiting - self.size()));
            }
            let slot = self.slot(*next);
            if slot.number == *next {
                *next = next.plus(1);
                return Ok(ValueGuard { slot: Some(slot) });
            }
            // A sender is overwriting the slot right now. It holds the queue's lock until the new
            // value is counted, and `load_unlocked` waits for that.
            drop(slot);
            word = self.queue.load_unlocked();
        }
    }

    /// Returns the number of values that at least one receiver has yet to take.
    pub(super) fn len(&self) -> usize {
        let oldest = self.next_number().minus(self.size());
        // Receivers take values in order, so the values that all have taken precede those that some
        // have not: a binary search finds the boundary.
        let (mut taken, mut end) = (0, self.size());
        while taken < end {
            let middle = taken + (end - taken) / 2;
            if self.slot(oldest.plus(middle)).remaining == 0 {
                taken = middle + 1;
            } else {
                end = middle;
            }
        }
        (self.size() - taken) as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slot(self.next_number().minus(1)).remaining == 0
    }

    /// Notes that the caller waits for a value, or for the end of all receivers.
    #[inline]
    pub(super) fn note_wait(&self, kind: WaitKind, waker: &Waker) {
        note_with(kind, address(self), waker, || LeafDetails {
            limit: Some(self.size()),
            senders: Some(self.senders.load(Relaxed) as u64),
            receivers: Some(self.receiver_count() as u64),
            ..LeafDetails::default()
        });
    }
}

/// A locked value that one receiver is taking.
///
/// Dropping the guard counts the value as taken by this receiver. The last receiver to take it also
/// drops the value.
pub(super) struct ValueGuard<'a, T> {
    /// `Some` until `release`.
    slot: Option<MutexGuard<'a, RingSlot<T>>>,
}

impl<T: Clone> ValueGuard<'_, T> {
    pub(super) fn clone_value(&self) -> T {
        let value = self.slot.as_ref().and_then(|slot| slot.value.clone());
        value.expect("a value stays in its slot until all have taken it")
    }
}

impl<T> ValueGuard<'_, T> {
    /// Counts the value as taken by this receiver. Returns the value if it was the last one, so
    /// that the caller drops it without holding the lock.
    pub(super) fn release(&mut self) -> Option<T> {
        let mut slot = self.slot.take()?;
        slot.remaining -= 1;
        if slot.remaining == 0 { slot.value.take() } else { None }
    }
}

impl<T> Drop for ValueGuard<'_, T> {
    /// Contains a panic of the value's drop: the caller may hold a clone of it, or the clone may
    /// have panicked.
    fn drop(&mut self) {
        let unwanted = self.release();
        contain_panic(|| drop(unwanted));
    }
}
