//! The ring of slots that a broadcast channel's ends share.
//!
//! Values are numbered as they are sent; number `n` goes into slot `n` modulo the size. The number of the next
//! value is the round of a wait queue, and the queue's flag says that the channel is closed, so a receiver sees by
//! one load how far behind it is, and gets in line by one compare-and-swap if it is not.
//!
//! ```text
//!            oldest                    next to be sent = round of `queue`
//!              ▼                         ▼
//!   ┌────┬────┬────┬────┬────┬────┬────┬────┐    each slot: number, value, and how many
//!   │    │    │  v │  v │  v │  v │  v │    │    receivers have still to take it; the last
//!   └────┴────┴────┴────┴────┴────┴────┴────┘    of them drops the value
//!                        ▲         ▲
//!                    a receiver's `next`, each its own
//! ```
//!
//! Locks are taken in one order: a slot, then the line. A slot's lock is held while its value is cloned, which
//! is foreign code and may take its time; the line's never is. So a sender first locks the slot it is going to
//! write, then the line; if another sender was faster, it tries the next slot.

use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wakeful_base::sync::{Mutex, MutexGuard};

use super::error::{SendError, TryRecvError};
use crate::Notify;
use crate::wait_queue::{Round, WaitQueue, Word};

/// So many that a count never overflows.
const RECEIVERS_MAX: usize = usize::MAX >> 2;

pub(super) struct Ring<T> {
    slots: Box<[Mutex<Slot<T>>]>,
    /// Number of slots, which is a power of two, less one.
    mask: usize,
    pub(super) queue: WaitQueue,
    /// Changed only while the line is locked, so that a value is counted for those who will take it.
    receivers: AtomicUsize,
    pub(super) senders: AtomicUsize,
    pub(super) weak_senders: AtomicUsize,
    /// Called when the last receiver is gone.
    pub(super) no_receivers: Notify,
}

struct Slot<T> {
    number: Round,
    /// How many receivers have still to take the value.
    takers: usize,
    value: Option<T>,
}

impl<T> Ring<T> {
    /// For one sender and `receivers` receivers.
    #[track_caller]
    pub(super) fn new(capacity: usize, receivers: usize) -> Self {
        assert!(capacity > 0, "broadcast channel capacity cannot be zero");
        assert!(
            capacity <= usize::MAX >> 1,
            "broadcast channel capacity exceeded `usize::MAX / 2`"
        );
        let size = capacity.next_power_of_two();
        let slots = (0..size)
            .map(|_| Mutex::new(Slot { number: Round::FIRST, takers: 0, value: None }))
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

    fn slot(&self, number: Round) -> MutexGuard<'_, Slot<T>> {
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

    /// Counts a new receiver; returns the number of the first value it will take.
    pub(super) fn add_receiver(&self) -> Round {
        let mut line = self.queue.lock();
        let count = self.receivers.load(Relaxed);
        assert!(count < RECEIVERS_MAX, "a broadcast channel has too many receivers: max receivers");
        self.receivers.store(count + 1, Relaxed);
        if count == 0 {
            // It was closed for want of receivers. Had the senders gone, nobody could call this.
            let open = line.word().with_flag(false);
            line.set_word(open);
        }
        line.word().round()
    }

    /// Counts a receiver out; returns the number of the first value that does not count on it, and
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

    /// Puts `value` into the next slot and wakes who waits; returns how many receivers will take it.
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
            let takers = self.receivers.load(Relaxed);
            if takers == 0 {
                return Err(SendError(value));
            }
            let old = slot.value.replace(value);
            (slot.number, slot.takers) = (word.round(), takers);
            line.set_word(word.in_next_round());
            drop(slot);
            line.release_stale();
            drop(old);
            return Ok(takers);
        }
    }

    /// Says that all senders are gone.
    pub(super) fn close(&self) {
        if let Some(line) = self.queue.update(|word| word.with_flag(true)) {
            line.release_stale();
        }
    }

    /// Takes part in the value number `next`, which goes up.
    pub(super) fn take(&self, next: &mut Round) -> Result<Taking<'_, T>, TryRecvError> {
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
                return Ok(Taking { slot: Some(slot) });
            }
            // It was overwritten just now, by a sender that has the line until its value is counted.
            drop(slot);
            word = self.queue.load_unlocked();
        }
    }

    /// How many values some receiver has still to take.
    pub(super) fn len(&self) -> usize {
        let oldest = self.next_number().minus(self.size());
        // Receivers take values in order, so all that are taken by all come before all that are not.
        let (mut taken, mut end) = (0, self.size());
        while taken < end {
            let middle = taken + (end - taken) / 2;
            if self.slot(oldest.plus(middle)).takers == 0 {
                taken = middle + 1;
            } else {
                end = middle;
            }
        }
        (self.size() - taken) as usize
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slot(self.next_number().minus(1)).takers == 0
    }
}

/// A receiver's share in a value; given up when dropped, by the last of them with the value.
pub(super) struct Taking<'a, T> {
    /// Always there, until it is given up.
    slot: Option<MutexGuard<'a, Slot<T>>>,
}

impl<T: Clone> Taking<'_, T> {
    pub(super) fn clone_value(&self) -> T {
        let value = self.slot.as_ref().and_then(|slot| slot.value.clone());
        value.expect("a value stays in its slot until all have taken it")
    }
}

impl<T> Taking<'_, T> {
    /// Gives the share up. Returns the value if it was the last one, for the caller to drop without the lock.
    pub(super) fn give_up(&mut self) -> Option<T> {
        let mut slot = self.slot.take()?;
        slot.takers -= 1;
        if slot.takers == 0 { slot.value.take() } else { None }
    }
}

impl<T> Drop for Taking<'_, T> {
    /// Contains the panic of the value's drop: the caller may hold a clone, or the clone have panicked.
    fn drop(&mut self) {
        let unwanted = self.give_up();
        contain_panic(|| drop(unwanted));
    }
}
