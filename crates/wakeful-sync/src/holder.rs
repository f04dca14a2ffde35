//! The holder of a lock: a word that names the task which has locked a mutex, has a write lock, or
//! initializes a cell.
//!
//! The word is written only while the process is [watched](holdings::is_watched), and read only by
//! futures that wait and are asked for details. It is no part of the lock's protocol.
//!
//! | bits | meaning |
//! |---|---|
//! | 0–31 | the lower half of the id of the task, or of the thread's `block_on` |
//! | 32 | `THREAD`: it is a thread's id |
//! | 33 | `GRANTED`: the permits were assigned to a waiting future, which was not polled since |
//! | 34 | `OWNED`: the guard holds an `Arc`, so it may be in another task by now |
//! | 35 | `KNOWN`: set in every word that is not 0 |
//!
//! ```text
//!      0 ◀──────────── release, leave: before the permits are given back ──────────┐
//!      │                                                                           │
//!      ├─ hold: a poll or a `try_` call has taken the permits ──▶ KNOWN | id ◀─┐   │
//!      │                                                             │ mark_owned  │
//!      │                                                             ▼         │   │
//!      │                                                    KNOWN | id | OWNED ┼───┤
//!      └─ grant: the last permit is assigned to a waiter                       │   │
//!           └──▶ KNOWN | id | GRANTED ── hold: the future is polled ───────────┘   │
//!                       └── the future is dropped ─────────────────────────────────┘
//! ```
//!
//! Invariants:
//! - Only a thread that has a permit of the lock writes the word: it holds the permit, has just
//!   taken it, or is about to give it back or assign it. The permits order these writes, as they
//!   order the accesses to the value. Two threads write at the same time only if both are readers
//!   of a read-write lock, and those write 0.
//! - A grant is written before the store that shows it to the waiter, so the waiter's `hold` comes
//!   later.
//! - While the lock is free, or held by readers, the word is 0. The exception is the time between
//!   the last store of a holder and its release of the permits.
//! - Between taking the permits and `hold`, the word is 0: the holder is unknown, never wrong.

use std::sync::atomic::Ordering::Relaxed;

use wakeful_base::sync::atomic::AtomicU64;
use wakeful_base::threads::THREAD_ID;
use wakeful_base::waiting::{Holder, current_id, holdings};

const THREAD: u64 = 1 << 32;
const GRANTED: u64 = 1 << 33;
const OWNED: u64 = 1 << 34;
const KNOWN: u64 = 1 << 35;

/// The task or thread that acquires a lock: the lower bits of the holder word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Claimant(u64);

impl Claimant {
    /// The number of bits in use.
    const BITS: u32 = 33;

    /// How many of them a waiter in a queue has room for: all or none.
    pub(crate) const BITS_IN_WAITER: u32 = if usize::BITS == 64 { Claimant::BITS } else { 0 };

    /// Returns what the calling thread polls.
    fn current() -> Claimant {
        let id = current_id();
        let thread = if id & THREAD_ID == 0 { 0 } else { THREAD };
        Claimant(u64::from(id as u32) | thread)
    }

    pub(crate) fn from_bits(bits: u64) -> Claimant {
        Claimant(bits & ((1 << Claimant::BITS) - 1))
    }

    pub(crate) fn bits(self) -> u64 {
        self.0
    }
}

/// What a semaphore does to know the holder of all its permits.
///
/// See the module's head for the order in which these are called.
pub(crate) trait TrackHolder {
    /// Returns what is to be named if the permits that the caller waits for are granted.
    fn claimant(&self) -> Option<Claimant> {
        None
    }

    /// Notes that the permits were assigned to the future of `claimant`.
    fn grant(&self, _claimant: Claimant) {}

    /// Notes that what the calling thread polls has taken or collected all permits.
    fn hold(&self) {}

    /// Notes that the calling thread's future has all permits but did not complete.
    fn hold_uncollected(&self) {}

    /// Notes that the caller is about to give permits back.
    fn release(&self) {}

    /// Returns the holder of all permits, provided that they are not available.
    fn holder(&self) -> Option<Holder> {
        None
    }
}

/// For semaphores whose permits have several holders.
pub(crate) struct NotTracked;

impl TrackHolder for NotTracked {}

/// The word; see the module's head.
pub(crate) struct HolderWord(AtomicU64);

impl HolderWord {
    #[cfg(not(wakeful_loom))]
    pub(crate) const fn new() -> Self {
        HolderWord(AtomicU64::new(0))
    }

    #[cfg(wakeful_loom)]
    pub(crate) fn new() -> Self {
        HolderWord(AtomicU64::new(0))
    }

    /// Notes that the guard which now has the permits may be moved to another task.
    #[inline]
    pub(crate) fn mark_owned(&self) {
        if holdings::is_watched() {
            self.0.store(self.0.load(Relaxed) | OWNED, Relaxed);
        }
    }

    #[cold]
    #[inline(never)]
    fn set(&self, mark: u64) {
        self.0.store(KNOWN | mark | Claimant::current().bits(), Relaxed);
    }
}

impl TrackHolder for HolderWord {
    #[inline]
    fn claimant(&self) -> Option<Claimant> {
        holdings::is_watched().then(Claimant::current)
    }

    #[inline]
    fn grant(&self, claimant: Claimant) {
        self.0.store(KNOWN | GRANTED | claimant.bits(), Relaxed);
    }

    #[inline]
    fn hold(&self) {
        if holdings::is_watched() {
            self.set(0);
        }
    }

    #[inline]
    fn hold_uncollected(&self) {
        if holdings::is_watched() {
            self.set(GRANTED);
        }
    }

    #[inline]
    fn release(&self) {
        if holdings::is_watched() {
            self.0.store(0, Relaxed);
        }
    }

    fn holder(&self) -> Option<Holder> {
        let word = self.0.load(Relaxed);
        (word & KNOWN != 0).then_some(Holder {
            id_low: word as u32,
            is_thread: word & THREAD != 0,
            is_granted: word & GRANTED != 0,
            is_owned: word & OWNED != 0,
        })
    }
}
