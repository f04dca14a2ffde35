//! The state word of a task, and all its transitions.
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0 | `ACTIVE` | the task is in a queue, on its way into one, or being polled |
//! | 1 | `AGAIN` | the task was woken while active: another poll must follow |
//! | 2 | `COMPLETE` | the future is gone; the output belongs to the join handle |
//! | 3 | `CANCELLED` | drop the future instead of polling it |
//! | 4 | `JOIN_INTEREST` | a `JoinHandle` exists |
//! | 5 | `JOIN_WAKER` | the waker slot is filled and handed over to the completing thread |
//! | 6, 7 | outcome | how the task ended, set together with `COMPLETE` |
//! | 8 | `ASKED` | the next poll reports the leaves that return `Pending` in it |
//! | 9 | `RECORDED` | wake-ups are noted in the task's record |
//! | 10… | references | see below |
//!
//! References are counted: one for the **scheduler**, from spawn to completion; one for the
//! **join** handle; one for each **waker** and **abort** handle. A queue entry has no reference of
//! its own. It relies on the scheduler's, because
//!
//! 1. a task that is `ACTIVE` has exactly one holder of the right to poll, and only that holder
//!    accesses the future;
//! 2. only the holder of the right to poll completes the task, so the task of a queue entry is not
//!    complete.
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
//!            │                            └──(4) idle: has its next entry already            │
//!            ▼                                                                               │
//!   (5) complete ◀───────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! The word does not say whether an active task is queued or being polled, because no transition
//! depends on it. So a poll starts with a plain load, unless the task was woken or aborted
//! meanwhile, and a task that yields (`requeue`) changes nothing. Only a wake-up and going idle
//! take a read-modify-write.

use wakeful_base::sync::atomic::{AtomicUsize, Ordering::*};

const ACTIVE: usize = 1 << 0;
const AGAIN: usize = 1 << 1;
const COMPLETE: usize = 1 << 2;
const CANCELLED: usize = 1 << 3;
const JOIN_INTEREST: usize = 1 << 4;
const JOIN_WAKER: usize = 1 << 5;
const OUTCOME_SHIFT: u32 = 6;
const OUTCOME_MASK: usize = 0b11 << OUTCOME_SHIFT;
const ASKED: usize = 1 << 8;
const RECORDED: usize = 1 << 9;
const REF_ONE: usize = 1 << 10;

/// The value of the word beyond which `retain` aborts the process. It is half of the largest value,
/// so that threads which add references at the same time cannot overflow the word. No program holds
/// so many handles.
const REFS_MAX: usize = usize::MAX >> 1;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It returned a value.
    Value,
    /// It panicked, in a poll or in the destructor of its future.
    Panic,
    /// It was aborted, or its runtime shut down.
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

/// What the holder of a queue entry does with the task.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Poll,
    /// Poll it, and report its leaves.
    PollAsked,
    Cancel,
}

impl Start {
    /// Returns what to do with a task whose word this was.
    fn of(before: usize) -> Start {
        match before & (CANCELLED | ASKED) {
            0 => Start::Poll,
            ASKED => Start::PollAsked,
            _cancelled => Start::Cancel,
        }
    }
}

/// Where a task is, as far as its state word says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// In a queue, or being polled.
    Active,
    /// It waits for a wake-up.
    Idle,
    /// It has ended.
    Complete,
}

/// The state of a task after a poll that returned `Pending`.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Idle {
    /// It waits for a wake-up.
    Waiting,
    /// It was woken or aborted during the poll. The polling thread holds a new entry.
    Again,
}

/// What the caller of a wake or an abort has to do.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WakeAction {
    /// Put the queue entry, which is now the caller's, into a queue.
    Schedule,
    /// Nothing: the task is active or complete.
    Nothing,
    /// Free the cell: the caller released the last reference.
    Free,
}

/// What the completing thread has to do after the transition.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Completed {
    /// Drop the output: there is no join handle to read it.
    pub drop_output: bool,
    /// The waker slot is filled: wake the waker, then return the slot with `release_after_wake` or
    /// `release_waker`.
    pub wake_join: bool,
}

/// The owner of the waker slot after the completing thread has woken the waker.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WakerSlotOwner {
    /// The join handle again.
    Join,
    /// The completing thread, which drops the waker: the join handle is gone.
    Completer,
}

/// What a join handle has to do when it is dropped.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JoinDropActions {
    /// The output is the join handle's, which drops it.
    pub drop_output: bool,
    /// The waker in the slot is the join handle's, which drops it.
    pub drop_waker: bool,
    /// The handle's reference, which covers the actions above, is still to be released.
    ///
    /// Otherwise the transition has released it. It was not the last one then, since the task is
    /// not complete.
    pub keeps_ref: bool,
}

/// The task was complete already, so the waker slot did not change its owner.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AlreadyComplete;

/// Returns `word` after a poll has been requested.
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
    /// (1) Creates the word of a new task: a queue entry, the scheduler's reference and the join
    /// handle's.
    pub(crate) fn new() -> TaskState {
        TaskState(AtomicUsize::new(ACTIVE | JOIN_INTEREST | (2 * REF_ONE)))
    }

    /// (2) Starts a poll, on behalf of the holder of the queue entry.
    pub(crate) fn start(&self) -> Start {
        let word = self.0.load(Acquire);
        debug_assert!(
            word & (ACTIVE | COMPLETE) == ACTIVE,
            "a queue entry's task is active and not complete: {word:#x}"
        );
        if word & (AGAIN | CANCELLED | ASKED | RECORDED) == 0 {
            return Start::Poll;
        }
        // The poll that starts now answers all wake-ups up to this point.
        Start::of(self.0.fetch_and(!(AGAIN | ASKED | RECORDED), AcqRel))
    }

    /// (2) Starts a poll that is recorded. From now on wake-ups are noted too, until a poll starts
    /// that is not recorded.
    pub(crate) fn start_recorded(&self) -> Start {
        let mut word = self.0.load(Acquire);
        while word & (AGAIN | CANCELLED | ASKED | RECORDED) != RECORDED {
            let after = word & !(AGAIN | ASKED) | RECORDED;
            match self.0.compare_exchange_weak(word, after, AcqRel, Acquire) {
                Ok(_) => return Start::of(word),
                Err(now) => word = now,
            }
        }
        Start::Poll
    }

    /// (3) Requests a poll, keeping the caller's reference. Calls `note` once before, if the task
    /// is recorded and not complete.
    #[inline]
    pub(crate) fn wake_by_ref(&self, note: impl FnOnce()) -> WakeAction {
        let word = self.0.load(Relaxed);
        // One test for the usual case, which costs less than the loop of the others.
        if word & (ACTIVE | COMPLETE | RECORDED) == 0 {
            if self.0.compare_exchange_weak(word, word | ACTIVE, AcqRel, Relaxed).is_ok() {
                return WakeAction::Schedule;
            }
        } else if word & (COMPLETE | RECORDED) == RECORDED {
            note();
        }
        self.request_poll(0)
    }

    /// (3) Requests a poll, and releases the caller's reference. Calls `note` as `wake_by_ref`.
    #[inline]
    pub(crate) fn wake_by_val(&self, note: impl FnOnce()) -> WakeAction {
        let word = self.0.load(Relaxed);
        if word & (ACTIVE | COMPLETE | RECORDED) == 0 {
            let after = (word | ACTIVE) - REF_ONE;
            if self.0.compare_exchange_weak(word, after, AcqRel, Relaxed).is_ok() {
                return WakeAction::Schedule;
            }
        } else if word & (COMPLETE | RECORDED) == RECORDED {
            note();
        }
        self.request_poll_and_release()
    }

    /// (3) Requests that the future be dropped instead of polled.
    pub(crate) fn abort(&self) -> WakeAction {
        self.request_poll(CANCELLED)
    }

    /// (3) Requests a poll that reports its leaves.
    pub(crate) fn ask(&self) -> WakeAction {
        self.request_poll(ASKED)
    }

    fn request_poll(&self, mark: usize) -> WakeAction {
        let mut word = self.0.load(Relaxed);
        while word & COMPLETE == 0 {
            // A read-modify-write even if `AGAIN` is set already: it makes the caller's earlier
            // writes visible to the poll that follows.
            let after = with_poll_requested(word) | mark;
            match self.0.compare_exchange_weak(word, after, AcqRel, Relaxed) {
                Err(now) => word = now,
                Ok(_) if word & ACTIVE == 0 => return WakeAction::Schedule,
                Ok(_) => return WakeAction::Nothing,
            }
        }
        WakeAction::Nothing
    }

    fn request_poll_and_release(&self) -> WakeAction {
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

    /// (4) Ends a poll that returned `Pending`.
    pub(crate) fn idle(&self) -> Idle {
        let mut word = self.0.load(Acquire);
        while word & AGAIN == 0 {
            debug_assert!(
                word & (ACTIVE | COMPLETE) == ACTIVE,
                "idle without being active: {word:#x}"
            );
            match self.0.compare_exchange_weak(word, word & !ACTIVE, AcqRel, Acquire) {
                Ok(_) => return Idle::Waiting,
                Err(now) => word = now,
            }
        }
        Idle::Again
    }

    /// (4) Ends a poll that returned `Pending` because the task yielded. The task stays active.
    pub(crate) fn requeue(&self) {
        debug_assert!(
            self.0.load(Relaxed) & (ACTIVE | COMPLETE) == ACTIVE,
            "requeued without being active"
        );
    }

    /// (6) Takes the right to poll an idle task, in order to cancel it. Returns false if the task
    /// is not idle.
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

    /// Returns whether the scheduler's reference is the only one, so that nothing else can reach
    /// the task.
    pub(crate) fn is_sole(&self) -> bool {
        let word = self.0.load(Acquire);
        word & JOIN_INTEREST == 0 && word >> REF_ONE.trailing_zeros() == 1
    }

    /// (5) Marks the task complete, after its future has been dropped and its output stored. Keeps
    /// the scheduler's reference.
    pub(crate) fn complete(&self, outcome: Outcome) -> Completed {
        let before = self.0.fetch_add(COMPLETE - ACTIVE + outcome.bits(), AcqRel);
        debug_assert!(before & (ACTIVE | COMPLETE) == ACTIVE, "completed without being active");
        Completed {
            drop_output: before & JOIN_INTEREST == 0,
            wake_join: before & JOIN_INTEREST != 0 && before & JOIN_WAKER != 0,
        }
    }

    /// (5) Does the same as `complete`, for a task that nothing else can reach.
    pub(crate) fn complete_sole(&self, outcome: Outcome) {
        debug_assert!(self.is_sole(), "the task has other references");
        self.0.store(COMPLETE | outcome.bits() | REF_ONE, Relaxed);
    }

    /// Returns the slot to the join handle, after the completing thread has woken the waker in it.
    pub(crate) fn release_waker(&self) -> WakerSlotOwner {
        let before = self.0.fetch_sub(JOIN_WAKER, AcqRel);
        debug_assert!(before & COMPLETE != 0 && before & JOIN_WAKER != 0, "{before:#x}");
        if before & JOIN_INTEREST == 0 { WakerSlotOwner::Completer } else { WakerSlotOwner::Join }
    }

    /// Does the same as `release_waker`, and releases the scheduler's reference if the slot goes
    /// back to the join handle.
    ///
    /// That reference is not the last one then, since the handle has its own. Otherwise it is kept
    /// until the waker has been dropped.
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

    /// Releases a reference. Returns true if it was the last one.
    #[must_use]
    pub(crate) fn release(&self) -> bool {
        let before = self.0.fetch_sub(REF_ONE, AcqRel);
        debug_assert!(before >= REF_ONE, "a reference was released twice");
        before < 2 * REF_ONE
    }

    /// Checks the word of a cell that is about to be freed.
    ///
    /// Under loom, this finds every use of the word that does not happen before it.
    pub(crate) fn assert_at_end(&mut self) {
        #[cfg(wakeful_loom)]
        let word = self.0.with_mut(|word| *word);
        #[cfg(not(wakeful_loom))]
        let word = *self.0.get_mut();
        let flags = word & (ACTIVE | COMPLETE | JOIN_INTEREST | JOIN_WAKER);
        debug_assert_eq!(flags, COMPLETE, "a task is freed once complete and without join handle");
        debug_assert!(word < 2 * REF_ONE, "a task is freed by its last reference: {word:#x}");
    }

    /// Adds a reference.
    pub(crate) fn retain(&self) {
        let before = self.0.fetch_add(REF_ONE, Relaxed);
        if before > REFS_MAX {
            std::process::abort();
        }
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.0.load(Acquire) & COMPLETE != 0
    }

    /// Returns where the task is. It may be elsewhere at any moment.
    pub(crate) fn phase(&self) -> Phase {
        match self.0.load(Acquire) & (ACTIVE | COMPLETE) {
            0 => Phase::Idle,
            ACTIVE => Phase::Active,
            _complete => Phase::Complete,
        }
    }

    /// Returns the number of references besides the scheduler's and the join handle's: those of
    /// wakers, of abort handles, and [retained](Self::retain) ones.
    pub(crate) fn other_refs(&self) -> usize {
        let word = self.0.load(Acquire);
        let known = 1 + usize::from(word & JOIN_INTEREST != 0);
        (word >> REF_ONE.trailing_zeros()).saturating_sub(known)
    }

    /// Returns whether there is a join handle. It may be dropped at any moment.
    pub(crate) fn has_join_interest(&self) -> bool {
        self.0.load(Relaxed) & JOIN_INTEREST != 0
    }

    /// Returns how the task ended. Only meaningful once it is complete.
    pub(crate) fn outcome(&self) -> Outcome {
        Outcome::of(self.0.load(Acquire))
    }

    /// Returns whether the waker slot is filled and handed over to the completing thread.
    pub(crate) fn has_join_waker(&self) -> bool {
        self.0.load(Acquire) & JOIN_WAKER != 0
    }

    /// Hands the slot over to the completing thread, after the join handle has filled it.
    pub(crate) fn set_join_waker(&self) -> Result<(), AlreadyComplete> {
        self.change_join_waker(|word| word | JOIN_WAKER)
    }

    /// Takes the slot back for the join handle, which is about to fill it anew.
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

    /// Records that the join handle is being dropped.
    pub(crate) fn drop_join(&self) -> JoinDropActions {
        let mut word = self.0.load(Acquire);
        loop {
            debug_assert!(word & JOIN_INTEREST != 0, "a task has one join handle");
            let complete = word & COMPLETE != 0;
            // Once the task is complete with the slot handed over, the completing thread may be
            // reading the slot. It drops the waker when it finds the join handle gone.
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
                        // If the slot has been given back, the handle drops the waker that it left
                        // there.
                        drop_waker: drop_waker || (complete && word & JOIN_WAKER == 0),
                        keeps_ref,
                    };
                }
            }
        }
    }
}
