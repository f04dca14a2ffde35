//! The one word that says all about a task, and every way it can change.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0 | `ACTIVE` | somebody has the task's **turn**: it is in a queue, on its way into one, or being polled |
//! | 1 | `AGAIN` | it was woken while active: what came before that has to be seen by a poll that begins after it |
//! | 2 | `COMPLETE` | the future is gone; the output belongs to the join side |
//! | 3 | `CANCELLED` | drop the future instead of polling it |
//! | 4 | `JOIN_INTEREST` | a `JoinHandle` exists |
//! | 5 | `JOIN_WAKER` | the waker slot is filled and the completing side may read it; clear: the slot is the join handle's |
//! | 6, 7 | outcome | how it ended, set together with `COMPLETE` |
//! | 8… | references | see below |
//!
//! References are counted: one for the **scheduler**, from spawn to completion; one for the **join**
//! handle; one for each **waker** and **abort** handle. A queue entry has none of its own: it lives
//! on the scheduler's, because
//!
//! 1. a task that is `ACTIVE` has exactly one turn, whose holder alone touches its future;
//! 2. a task completes only by the holder of its turn, so that of an entry is not complete.
//!
//! ```text
//!            (1) new
//!               │
//!               ▼      (2) start, without a change
//!            ACTIVE ◀───────────────────────────────────┐
//!            │  │ ▲                                     │
//!            │  │ └──(3) wake, abort: becomes an entry──┼── (nothing) ──(6) claim_idle──▶ ACTIVE
//!            │  │                                       │        ▲                           │
//!            │  ├──(4) idle─────────────────────────────┼────────┘                           │
//!            │  │                                       │                                    │
//!            │  └──(3) wake, abort──▶ ACTIVE|AGAIN ──(2) start: clears it                    │
//!            │                            │                                                  │
//!            │                            └──(4) idle: has its next turn already             │
//!            ▼                                                                               │
//!   (5) complete ◀───────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Whether an active task is in a queue or being polled the word does not say, because no one has to
//! ask: so a turn that is not disturbed begins with a load, and one that the task gives up of its own
//! accord (`requeue`) ends without any change. Only the wake and the wait cost a read-modify-write.

use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};

const ACTIVE: usize = 1 << 0;
const AGAIN: usize = 1 << 1;
const COMPLETE: usize = 1 << 2;
const CANCELLED: usize = 1 << 3;
const JOIN_INTEREST: usize = 1 << 4;
const JOIN_WAKER: usize = 1 << 5;
const OUTCOME_SHIFT: u32 = 6;
const OUTCOME_MASK: usize = 0b11 << OUTCOME_SHIFT;
const REF_ONE: usize = 1 << 8;

/// A count past this would soon overflow the word; no program holds so many handles.
const REFS_MAX: usize = usize::MAX >> 1;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// With a value.
    Value,
    /// With a panic, in its poll or in the drop of its future.
    Panic,
    /// By being aborted, or by its runtime's shutdown.
    Cancelled,
}

impl Outcome {
    fn bits(self) -> usize {
        let code = match self {
            Outcome::Value => 0,
            Outcome::Panic => 1,
            Outcome::Cancelled => 2,
        };
        code << OUTCOME_SHIFT
    }

    fn of(word: usize) -> Outcome {
        match (word & OUTCOME_MASK) >> OUTCOME_SHIFT {
            0 => Outcome::Value,
            1 => Outcome::Panic,
            _ => Outcome::Cancelled,
        }
    }
}

/// What the holder of a queue entry does with it.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Poll,
    Cancel,
}

/// What happens to a task whose poll returned `Pending`.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It waits for a wake-up.
    Parked,
    /// It was woken (or aborted) during the poll: its poller holds a new entry.
    Again,
}

/// What the caller of a wake or abort does.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WakeAction {
    /// Put the entry, which is now the caller's, into a queue.
    Schedule,
    /// Nothing: it is active or complete.
    Nothing,
    /// Nothing, and free the cell: the reference given up was the last.
    Free,
}

/// What the completing side does after the transition.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    /// Nobody will read the output: drop it.
    pub drop_output: bool,
    /// The waker slot is filled: wake it, then call `release_after_wake`.
    pub wake_join: bool,
}

/// Whose the waker slot is after the completing side has woken it.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WakerSlotOwner {
    /// The join handle's again.
    Join,
    /// The join handle is gone: the completing side drops the waker.
    Completer,
}

/// What dropping a join handle asks for.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JoinDropActions {
    /// The output is the join handle's to drop.
    pub drop_output: bool,
    /// The waker in the slot is the join handle's to drop.
    pub drop_waker: bool,
    /// The handle's reference is still to be given up (it covers the drops above). Otherwise the
    /// transition has done so; it cannot have been the last, for the task is not complete.
    pub keeps_ref: bool,
}

/// The task was complete, so that the waker slot did not change hands.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AlreadyComplete;

/// Returns `word` with a poll requested.
fn with_poll_requested(word: usize) -> usize {
    match word & (ACTIVE | COMPLETE) {
        0 => word | ACTIVE,
        ACTIVE => word | AGAIN,
        _complete => word,
    }
}

#[derive(Debug)]
pub(crate) struct TaskState(AtomicUsize);

impl TaskState {
    /// (1) With an entry, a reference for the scheduler and one for the join handle.
    pub(crate) fn new() -> TaskState {
        TaskState(AtomicUsize::new(ACTIVE | JOIN_INTEREST | (2 * REF_ONE)))
    }

    /// (2) The holder of the entry begins the turn.
    pub(crate) fn start(&self) -> Start {
        let word = self.0.load(Acquire);
        debug_assert!(
            word & (ACTIVE | COMPLETE) == ACTIVE,
            "a queue entry's task is active and not complete: {word:#x}"
        );
        if word & (AGAIN | CANCELLED) == 0 {
            return Start::Poll;
        }
        // Whoever woke it up to now is answered by the poll that begins.
        let before = self.0.fetch_and(!AGAIN, AcqRel);
        if before & CANCELLED == 0 { Start::Poll } else { Start::Cancel }
    }

    /// (3) Asks for a poll, keeping the caller's reference.
    pub(crate) fn wake_by_ref(&self) -> WakeAction {
        self.request_poll(0)
    }

    /// (3) Asks for a poll and gives the caller's reference up.
    pub(crate) fn wake_by_val(&self) -> WakeAction {
        let mut word = self.0.load(Relaxed);
        loop {
            let after = with_poll_requested(word) - REF_ONE;
            match self.0.compare_exchange_weak(word, after, AcqRel, Relaxed) {
                Err(now) => word = now,
                Ok(_) if word & (ACTIVE | COMPLETE) == 0 => return WakeAction::Schedule,
                Ok(_) if after < REF_ONE => return WakeAction::Free,
                Ok(_) => return WakeAction::Nothing,
            }
        }
    }

    /// (3) Asks for the future to be dropped at its next turn.
    pub(crate) fn abort(&self) -> WakeAction {
        self.request_poll(CANCELLED)
    }

    fn request_poll(&self, mark: usize) -> WakeAction {
        let mut word = self.0.load(Relaxed);
        while word & COMPLETE == 0 {
            // Always a read-modify-write, even if `AGAIN` is set already: it makes what the caller wrote
            // before visible to the poll that is still to come.
            let after = with_poll_requested(word) | mark;
            match self.0.compare_exchange_weak(word, after, AcqRel, Relaxed) {
                Err(now) => word = now,
                Ok(_) if word & ACTIVE == 0 => return WakeAction::Schedule,
                Ok(_) => return WakeAction::Nothing,
            }
        }
        WakeAction::Nothing
    }

    /// (4) The poll returned `Pending`.
    pub(crate) fn idle(&self) -> Idle {
        let mut word = self.0.load(Acquire);
        while word & AGAIN == 0 {
            debug_assert!(
                word & (ACTIVE | COMPLETE) == ACTIVE,
                "idle without being active: {word:#x}"
            );
            match self.0.compare_exchange_weak(word, word & !ACTIVE, AcqRel, Acquire) {
                Ok(_) => return Idle::Parked,
                Err(now) => word = now,
            }
        }
        Idle::Again
    }

    /// (4) The poll returned `Pending`, and the task wants another turn of its own accord: it keeps the
    /// one it has.
    pub(crate) fn requeue(&self) {
        debug_assert!(
            self.0.load(Relaxed) & (ACTIVE | COMPLETE) == ACTIVE,
            "requeued without being active"
        );
    }

    /// (6) Takes the turn of a task that waits, so as to drop it. False if it does not just wait.
    pub(crate) fn claim_idle(&self) -> bool {
        let mut word = self.0.load(Relaxed);
        while word & (ACTIVE | COMPLETE) == 0 {
            match self.0.compare_exchange_weak(word, word | ACTIVE, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Whether the scheduler's reference is the only one: nobody else can reach the task any more.
    pub(crate) fn is_sole(&self) -> bool {
        let word = self.0.load(Acquire);
        word & JOIN_INTEREST == 0 && word >> REF_ONE.trailing_zeros() == 1
    }

    /// (5) The future is gone, the output in place. The scheduler's reference is kept.
    pub(crate) fn complete(&self, outcome: Outcome) -> Completed {
        let before = self.0.fetch_add(COMPLETE - ACTIVE + outcome.bits(), AcqRel);
        debug_assert!(before & (ACTIVE | COMPLETE) == ACTIVE, "completed without being active");
        Completed {
            drop_output: before & JOIN_INTEREST == 0,
            wake_join: before & JOIN_INTEREST != 0 && before & JOIN_WAKER != 0,
        }
    }

    /// (5) As `complete`, for a task that nobody else can reach.
    pub(crate) fn complete_sole(&self, outcome: Outcome) {
        debug_assert!(self.is_sole(), "the task has other references");
        self.0.store(COMPLETE | outcome.bits() | REF_ONE, Relaxed);
    }

    /// The completing side has woken the slot's waker: the slot goes back to the join handle.
    pub(crate) fn release_waker(&self) -> WakerSlotOwner {
        let before = self.0.fetch_sub(JOIN_WAKER, AcqRel);
        debug_assert!(before & COMPLETE != 0 && before & JOIN_WAKER != 0, "{before:#x}");
        if before & JOIN_INTEREST == 0 { WakerSlotOwner::Completer } else { WakerSlotOwner::Join }
    }

    /// As `release_waker`, and gives the scheduler's reference up if the slot is the join handle's.
    ///
    /// It cannot be the last then: there is the handle's. Otherwise it is kept for the waker's drop.
    pub(crate) fn release_after_wake(&self) -> WakerSlotOwner {
        let mut word = self.0.load(Relaxed);
        loop {
            let (after, owner) = if word & JOIN_INTEREST == 0 {
                (word - JOIN_WAKER, WakerSlotOwner::Completer)
            } else {
                (word - JOIN_WAKER - REF_ONE, WakerSlotOwner::Join)
            };
            match self.0.compare_exchange_weak(word, after, AcqRel, Relaxed) {
                Ok(_) => return owner,
                Err(now) => word = now,
            }
        }
    }

    /// Gives a reference up. True if it was the last.
    #[must_use]
    pub(crate) fn release(&self) -> bool {
        let before = self.0.fetch_sub(REF_ONE, AcqRel);
        debug_assert!(before >= REF_ONE, "a reference was released twice");
        before < 2 * REF_ONE
    }

    /// The cell is about to be freed.
    ///
    /// Under loom, this finds every use of the word that is not ordered before the end.
    pub(crate) fn assert_at_end(&mut self) {
        #[cfg(wakeful_loom)]
        let word = self.0.with_mut(|word| *word);
        #[cfg(not(wakeful_loom))]
        let word = *self.0.get_mut();
        let flags = word & (ACTIVE | COMPLETE | JOIN_INTEREST | JOIN_WAKER);
        debug_assert_eq!(flags, COMPLETE, "a task is freed once complete and without join handle");
        debug_assert!(word < 2 * REF_ONE, "a task is freed by its last reference: {word:#x}");
    }

    /// One more reference.
    pub(crate) fn retain(&self) {
        let before = self.0.fetch_add(REF_ONE, Relaxed);
        if before > REFS_MAX {
            std::process::abort();
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.0.load(Acquire) & COMPLETE != 0
    }

    /// Whether there is a join handle; it may go at any moment.
    pub(crate) fn has_join_interest(&self) -> bool {
        self.0.load(Relaxed) & JOIN_INTEREST != 0
    }

    /// How it ended; meaningful once complete.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::of(self.0.load(Acquire))
    }

    /// Whether the waker slot is filled and out of the join handle's hands.
    pub(crate) fn has_join_waker(&self) -> bool {
        self.0.load(Acquire) & JOIN_WAKER != 0
    }

    /// The join handle has filled the slot and hands it over.
    pub(crate) fn set_join_waker(&self) -> Result<(), AlreadyComplete> {
        self.change_join_waker(|word| word | JOIN_WAKER)
    }

    /// The join handle takes the slot back, to fill it anew.
    pub(crate) fn unset_join_waker(&self) -> Result<(), AlreadyComplete> {
        self.change_join_waker(|word| word & !JOIN_WAKER)
    }

    fn change_join_waker(&self, change: impl Fn(usize) -> usize) -> Result<(), AlreadyComplete> {
        let mut word = self.0.load(Acquire);
        loop {
            debug_assert!(word & JOIN_INTEREST != 0, "only a join handle changes the waker slot");
            if word & COMPLETE != 0 {
                return Err(AlreadyComplete);
            }
            match self.0.compare_exchange_weak(word, change(word), AcqRel, Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }

    /// The join handle goes.
    pub(crate) fn drop_join(&self) -> JoinDropActions {
        let mut word = self.0.load(Acquire);
        loop {
            debug_assert!(word & JOIN_INTEREST != 0, "a task has one join handle");
            let complete = word & COMPLETE != 0;
            // Once complete with the slot filled, the completing side may be reading it, and drops
            // the waker when it finds the join handle gone.
            let drop_waker = !complete && word & JOIN_WAKER != 0;
            let keeps_ref = complete || drop_waker;
            let mut after = word & !JOIN_INTEREST;
            if drop_waker {
                after &= !JOIN_WAKER;
            }
            if !keeps_ref {
                after -= REF_ONE;
            }
            match self.0.compare_exchange_weak(word, after, AcqRel, Acquire) {
                Err(now) => word = now,
                Ok(_) => {
                    return JoinDropActions {
                        drop_output: complete,
                        // With the slot back in its hands the handle drops what it left there.
                        drop_waker: drop_waker || (complete && word & JOIN_WAKER == 0),
                        keeps_ref,
                    };
                }
            }
        }
    }
}
