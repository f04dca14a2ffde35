//! The state of a timer entry: whose it is, and who may touch its waker.
//!
//! | state | where the entry is | waker |
//! |---|---|---|
//! | `ARMED` | in a wheel | nobody's: see (2) and (4) |
//! | `CHANGING` | in a wheel | the sleeper's |
//! | `CHANGING_DUE` | the sleeper's | the sleeper's |
//! | `FIRING` | the owner's | the owner's |
//! | `FIRING_LEFT` | the owner's, to free | the owner's |
//! | `FIRED` | the sleeper's | none |
//! | `LEFT` | in the owner's inbox, and maybe in its wheel: the owner's, to free | the sleeper's, until it is in the inbox |
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
//! (1), (2), (3) and (6) are the sleeper's, of which there is one; (4) and (5) are the owner's, of the
//! wheel. Who is both at once, because the sleeper is polled or dropped by the wheel's own worker, meets
//! only `ARMED` and `FIRED`, has the entry to himself, and needs no read-modify-write.

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

/// What the owner has to do with an entry whose time has come.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Fire {
    /// Take the waker, then call [`EntryState::fired`].
    TakeWaker,
    /// Nothing: it is the sleeper's, or will come through the inbox.
    LetGo,
}

/// Who has to free an entry after a step that both sides may take last.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leave {
    /// The sleeper, at once.
    Free,
    /// The owner: the sleeper takes the waker out and leaves the entry in the inbox.
    ToInbox,
    /// The owner, which has it in its hands just now.
    ToOwner,
}

impl EntryState {
    pub(super) fn new() -> EntryState {
        EntryState(AtomicU32::new(FIRED))
    }

    /// (1) The entry is in a wheel. Before this it was the caller's alone.
    pub(super) fn arm(&self) {
        self.0.store(ARMED, Relaxed);
    }

    /// Whether the time has come. With `true` the sleeper need not wait.
    pub(super) fn is_due(&self) -> bool {
        matches!(self.0.load(Acquire), FIRING | FIRED)
    }

    /// Whether the entry is the sleeper's. For who is owner and sleeper at once.
    pub(super) fn is_fired_here(&self) -> bool {
        let state = self.0.load(Relaxed);
        debug_assert!(state == ARMED || state == FIRED, "the sleeper is elsewhere: {state}");
        state == FIRED
    }

    /// (2) The sleeper wants the waker. False if the time has come.
    #[must_use]
    pub(super) fn change(&self) -> bool {
        self.0.compare_exchange(ARMED, CHANGING, AcqRel, Relaxed).is_ok()
    }

    /// (3) The sleeper is done with the waker. False if the time came meanwhile: nobody will call it.
    #[must_use]
    pub(super) fn changed(&self) -> bool {
        if self.0.compare_exchange(CHANGING, ARMED, AcqRel, Acquire).is_ok() {
            return true;
        }
        debug_assert_eq!(self.0.load(Relaxed), CHANGING_DUE, "only the owner was let in");
        self.0.store(FIRED, Relaxed);
        false
    }

    /// (4) The owner has the entry out of its wheel, as its time has come.
    pub(super) fn fire(&self) -> Fire {
        let mut now = ARMED;
        loop {
            let next = match now {
                ARMED => FIRING,
                CHANGING => CHANGING_DUE,
                _ => return Fire::LetGo,
            };
            match self.0.compare_exchange(now, next, AcqRel, Relaxed) {
                Ok(ARMED) => return Fire::TakeWaker,
                Ok(_) => return Fire::LetGo,
                Err(other) => now = other,
            }
        }
    }

    /// (5) The owner has taken the waker. True if it has to free the entry.
    #[must_use]
    pub(super) fn fired(&self) -> bool {
        self.0.swap(FIRED, AcqRel) == FIRING_LEFT
    }

    /// (6) The sleeper leaves.
    pub(super) fn leave(&self) -> Leave {
        let mut now = self.0.load(Acquire);
        loop {
            let (next, leave) = match now {
                FIRED => return Leave::Free,
                ARMED => (LEFT, Leave::ToInbox),
                FIRING => (FIRING_LEFT, Leave::ToOwner),
                other => unreachable!("a sleeper leaves once, and not while it changes: {other}"),
            };
            match self.0.compare_exchange(now, next, AcqRel, Acquire) {
                Ok(_) => return leave,
                Err(other) => now = other,
            }
        }
    }
}
