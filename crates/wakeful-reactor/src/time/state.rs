//! The state word of a timer entry: which side has the entry, and which one may access its waker.
//!
//! The **sleeper** is the future that waits; the **owner** is the owner of the wheel.
//!
//! | state | the entry | the waker |
//! |---|---|---|
//! | `ARMED` | is in a wheel | neither side's: see (2) and (4) |
//! | `CHANGING` | is in a wheel | the sleeper's |
//! | `CHANGING_DUE` | belongs to the sleeper | the sleeper's |
//! | `FIRING` | belongs to the owner | the owner's |
//! | `FIRING_LEFT` | belongs to the owner, which frees it | the owner's |
//! | `FIRED` | belongs to the sleeper | none |
//! | `LEFT` | is on its way to the owner's inbox, or in it | the sleeper's, before the inbox |
//!
//! ```text
//!           (1) arm              (4) fire             (5) fired
//!   new ───────────────▶ ARMED ───────────▶ FIRING ───────────────▶ FIRED ──(6) leave──▶ freed
//!                        │ ▲ │                │
//!          (2) change    │ │ │ (6) leave      │ (6) leave
//!                 ┌──────┘ │ └──────▶ LEFT    └─────▶ FIRING_LEFT ──(5) fired──▶ freed
//!                 ▼        │            └──▶ inbox ──▶ freed
//!             CHANGING ────┘ (3) changed
//!                 │ (4) fire
//!                 └──────▶ CHANGING_DUE ──(3) changed──▶ FIRED
//! ```
//!
//! A `LEFT` entry may still be in the wheel. The owner frees it.
//!
//! The sleeper, of which there is one, performs (1), (2), (3) and (6). The owner performs (4) and
//! (5). If the sleeper is polled or dropped by the thread that owns the wheel, that thread is both.
//! It only finds `ARMED` or `FIRED`, has exclusive access to the entry, and needs no
//! read-modify-write.

use wakeful_base::sync::atomic::{AtomicU32, Ordering::*};

const ARMED: u32 = 0;
const CHANGING: u32 = 1;
const CHANGING_DUE: u32 = 2;
const FIRING: u32 = 3;
const FIRING_LEFT: u32 = 4;
const FIRED: u32 = 5;
const LEFT: u32 = 6;

#[derive(Debug)]
pub(super) struct EntryState(AtomicU32);

/// What the owner has to do with an entry that is due.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fire {
    /// Take the waker, then call [`EntryState::finish_fire`].
    TakeWaker,
    /// Nothing: the entry is the sleeper's, or will come through the inbox.
    Nothing,
}

/// Which side has to free an entry that the sleeper leaves.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The sleeper, at once.
    Free,
    /// The owner: the sleeper takes the waker and pushes the entry to the inbox.
    ToInbox,
    /// The owner, which is firing the entry at this moment.
    OwnerFrees,
}

impl EntryState {
    pub(super) fn new() -> EntryState {
        EntryState(AtomicU32::new(FIRED))
    }

    /// (1) Marks the entry as armed when it is added to a wheel. Before this, only the caller had
    /// it.
    pub(super) fn arm(&self) {
        self.0.store(ARMED, Relaxed);
    }

    /// Returns whether the timer is due. If so, the sleeper need not wait.
    pub(super) fn is_due(&self) -> bool {
        matches!(self.0.load(Acquire), FIRING | FIRED)
    }

    /// Returns whether the entry is the sleeper's. For a thread that is both owner and sleeper.
    pub(super) fn is_fired_here(&self) -> bool {
        let state = self.0.load(Relaxed);
        debug_assert!(state == ARMED || state == FIRED, "the sleeper is elsewhere: {state}");
        state == FIRED
    }

    /// (2) Gives the sleeper access to the waker. Returns false if the timer is due.
    #[must_use]
    pub(super) fn begin_change(&self) -> bool {
        self.0.compare_exchange(ARMED, CHANGING, AcqRel, Relaxed).is_ok()
    }

    /// (3) Ends the sleeper's access to the waker. Returns false if the timer became due meanwhile;
    /// the waker is not woken then.
    #[must_use]
    pub(super) fn end_change(&self) -> bool {
        if self.0.compare_exchange(CHANGING, ARMED, AcqRel, Acquire).is_ok() {
            return true;
        }
        debug_assert_eq!(self.0.load(Relaxed), CHANGING_DUE, "only the owner was let in");
        self.0.store(FIRED, Relaxed);
        false
    }

    /// (4) Starts to fire the entry, which the owner has removed from its wheel because it is due.
    pub(super) fn begin_fire(&self) -> Fire {
        let mut now = ARMED;
        loop {
            let next = match now {
                ARMED => FIRING,
                CHANGING => CHANGING_DUE,
                _ => return Fire::Nothing,
            };
            match self.0.compare_exchange(now, next, AcqRel, Relaxed) {
                Ok(ARMED) => return Fire::TakeWaker,
                Ok(_) => return Fire::Nothing,
                Err(other) => now = other,
            }
        }
    }

    /// (5) Marks the entry as fired, after the owner has taken the waker. Returns true if it has to
    /// free the entry.
    #[must_use]
    pub(super) fn finish_fire(&self) -> bool {
        self.0.swap(FIRED, AcqRel) == FIRING_LEFT
    }

    /// (6) Leaves the entry, on behalf of the sleeper.
    pub(super) fn leave(&self) -> Leave {
        let mut now = self.0.load(Acquire);
        loop {
            let (next, leave) = match now {
                FIRED => return Leave::Free,
                ARMED => (LEFT, Leave::ToInbox),
                FIRING => (FIRING_LEFT, Leave::OwnerFrees),
                other => unreachable!("a sleeper leaves once, and not while it changes: {other}"),
            };
            match self.0.compare_exchange(now, next, AcqRel, Acquire) {
                Ok(_) => return leave,
                Err(other) => now = other,
            }
        }
    }
}
