//! Futures that wait in line, behind one atomic word.
//!
//! What [`Notify`](crate::Notify), `watch`, `broadcast` and [`SetOnce`](crate::SetOnce) have in common.
//! The word counts *rounds*. A waiter may wait as long as the word is in the round it came in and the
//! flag is not set; whoever starts a new round or sets the flag releases all waiters by that, at once,
//! and then goes along the line to tell them.
//!
//! ```text
//!   63                                3      2        1        0
//!   ┌──────────────────────────────────┬──────┬─────────┬────────┐
//!   │              round               │ FLAG │ WAITING │ LOCKED │
//!   └──────────────────────────────────┴──────┴─────────┴────────┘
//! ```
//!
//! - LOCKED: somebody has the line of waiters to itself. Nobody else changes the word meanwhile, so it
//!   is unlocked by a plain store.
//! - WAITING: the line is not empty (trust it only in a word that is not locked).
//! - FLAG: belongs to the user of the queue. Notify: a permit is stored; the channels: closed.
//! - round: Notify: calls of `notify_waiters`; watch: versions; broadcast: values sent.
//!
//! Having the lock, the counter and the flag in one word is what makes waiting cheap: to see that there
//! is nothing yet and to lock the line is one compare-and-swap, and so is to start a round and to lock
//! the line for telling. The lock is held for a few instructions, never while foreign code runs.
//!
//! A waiter's life, with who takes each step:
//!
//! ```text
//!          (1) enter                      (2) release: takes the waker
//!   IDLE ────────────▶ QUEUED ─────────────────────────────────────────▶ FIRST | LAST | ALL
//!    │ ▲                 │ (3) leave                                              │  │
//!    │ └─────────────────┴──────────────────────(4) reset─────────────────────────┘  │
//!    └──────────────────────────▶ OVER ◀────────(5) finish───────────────────────────┘
//! ```
//!
//! (1), (3), (4) and (5) are steps of the future that owns the waiter, (2) of somebody else, or of the owner
//! if it sees a new round first. (1), (2) and (3) need the lock. The waker belongs to the lock's holder
//! while QUEUED, otherwise to the owner; so (2) is the last thing anybody else does to a waiter, and a
//! released one may be dropped at once.
//!
//! The line is first in, first out, so waiters of earlier rounds, the *stale* ones, stand before those of
//! the present one. Nobody but the line knows them apart: it remembers the last of them, which is the last
//! of all at the moment a holder of the lock starts a round or sets the flag. Any holder of the lock may
//! release them; that is why telling them in batches, with the lock let go in between, needs no second list.
//! Who has to know whether one waiter may go releases them first. Whoever is in line then has to wait.

mod line;
mod waiter;
mod word;

pub(crate) use line::LockedLine;
pub(crate) use waiter::{Stage, Waiter};
pub(crate) use word::{Round, Word};

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Poll, Waker};

use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};

use crate::backoff::Backoff;
use line::Line;

/// The word and the line behind it.
pub(crate) struct WaitQueue {
    word: AtomicU64,
    /// Touched by the lock's holder only.
    line: UnsafeCell<Line>,
}

// SAFETY: `line` is only touched under the lock in `word`, and waiters are `Send`.
unsafe impl Send for WaitQueue {}
// SAFETY: as above.
unsafe impl Sync for WaitQueue {}
// No foreign code runs while the line is locked, so a panic leaves it whole.
impl UnwindSafe for WaitQueue {}
impl RefUnwindSafe for WaitQueue {}

/// What became of a waiter that was thought to be in line.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    /// Still in line, with an up-to-date waker.
    On,
    /// No longer in line.
    Over,
}

impl WaitQueue {
    /// A queue with nobody in line.
    #[cfg(not(wakeful_loom))]
    pub(crate) const fn new(word: Word) -> Self {
        WaitQueue { word: AtomicU64::new(word.0), line: UnsafeCell::new(Line::new()) }
    }

    /// A queue with nobody in line.
    #[cfg(wakeful_loom)]
    pub(crate) fn new(word: Word) -> Self {
        WaitQueue { word: AtomicU64::new(word.0), line: UnsafeCell::new(Line::new()) }
    }

    /// The word as it is, locked or not: good for its round and flag.
    #[inline]
    pub(crate) fn load(&self) -> Word {
        Word(self.word.load(Acquire))
    }

    /// The word when it is not locked, from which it can be changed.
    #[inline]
    pub(crate) fn settled(&self) -> Word {
        self.settle(self.load())
    }

    #[inline]
    fn settle(&self, word: Word) -> Word {
        if word.is_locked() { self.wait_until_unlocked() } else { word }
    }

    #[cold]
    fn wait_until_unlocked(&self) -> Word {
        let mut backoff = Backoff::new();
        loop {
            backoff.pause();
            let word = self.load();
            if !word.is_locked() {
                return word;
            }
        }
    }

    /// Changes a settled word without locking the line.
    ///
    /// If it is another by now, fails with that, settled.
    #[inline]
    pub(crate) fn change(&self, from: Word, to: Word) -> Result<(), Word> {
        debug_assert!(!from.is_locked(), "a locked word belongs to the lock's holder");
        match self.word.compare_exchange(from.0, to.0, AcqRel, Acquire) {
            Ok(_) => Ok(()),
            Err(now) => Err(self.settle(Word(now))),
        }
    }

    /// Changes a settled word and locks the line, in one step.
    ///
    /// If it is another by now, fails with that, settled.
    #[inline]
    pub(crate) fn lock_changing(&self, from: Word, to: Word) -> Result<LockedLine<'_>, Word> {
        self.change(from, to.locked())?;
        let mut locked = LockedLine::new(self, from);
        locked.set_word(to);
        Ok(locked)
    }

    /// Locks the line.
    #[inline]
    pub(crate) fn lock(&self) -> LockedLine<'_> {
        let mut word = self.settled();
        loop {
            match self.lock_changing(word, word) {
                Ok(locked) => return locked,
                Err(now) => word = now,
            }
        }
    }

    /// Changes the word, and locks the line with it if somebody is there to be told.
    #[inline]
    #[must_use = "waiters must be released"]
    pub(crate) fn update(&self, change: impl Fn(Word) -> Word) -> Option<LockedLine<'_>> {
        let mut word = self.settled();
        loop {
            let changed = if word.has_waiters() {
                self.lock_changing(word, change(word)).map(Some)
            } else {
                self.change(word, change(word)).map(|()| None)
            };
            match changed {
                Ok(locked) => return locked,
                Err(now) => word = now,
            }
        }
    }

    /// Waits until `round` is over or the flag is set; then returns the word.
    ///
    /// # Safety
    /// As for [`enter`](Self::enter).
    #[inline]
    pub(crate) unsafe fn poll_over(
        &self,
        round: Round,
        waiter: Pin<&Waiter>,
        waker: &Waker,
    ) -> Poll<Word> {
        let mut word = self.load();
        let mut cloned = None;
        loop {
            if !word.keeps_waiting(round) {
                return Poll::Ready(word);
            }
            if waiter.stage() != Stage::Idle {
                // SAFETY: it has entered, and by contract this queue.
                if unsafe { self.refresh(waiter, Some(waker)) } == Wait::On {
                    return Poll::Pending;
                }
                waiter.reset();
                word = self.load();
                continue;
            }
            let settled = self.settle(word);
            if settled != word {
                word = settled;
                continue;
            }
            let waker = cloned.take().unwrap_or_else(|| waker.clone());
            // SAFETY: passed on to the caller.
            match unsafe { self.enter(word, waiter, Some(waker)) } {
                Ok(()) => return Poll::Pending,
                Err((now, waker)) => (word, cloned) = (now, waker),
            }
        }
    }

    /// Puts an idle `waiter` last in line, if the word is still what the caller `saw`.
    ///
    /// Gives the waker back with the new word, settled, if it is not.
    ///
    /// # Safety
    /// The waiter must call [`leave`](Self::leave) on this queue before it is dropped.
    #[inline]
    pub(crate) unsafe fn enter(
        &self,
        saw: Word,
        waiter: Pin<&Waiter>,
        waker: Option<Waker>,
    ) -> Result<(), (Word, Option<Waker>)> {
        debug_assert_eq!(waiter.stage(), Stage::Idle, "a waiter stands in one line, once");
        let locked = match self.lock_changing(saw, saw) {
            Ok(locked) => locked,
            Err(now) => return Err((now, waker)),
        };
        // SAFETY: the waiter is the caller's, idle, pinned, and leaves the line before it is dropped.
        unsafe { locked.push(waiter, waker) };
        Ok(())
    }

    /// Sees to it that a waiter that entered has an up-to-date waker, if it has still to wait.
    ///
    /// If there are waiters that may go and have not been told yet, they are told here: it may be one of
    /// them. After `Over` the waiter's stage says how it was released.
    ///
    /// # Safety
    /// The waiter must have entered this queue.
    pub(crate) unsafe fn refresh(&self, waiter: Pin<&Waiter>, waker: Option<&Waker>) -> Wait {
        // Cloned without the lock, and only if it turns out to be needed.
        let mut fresh = None;
        loop {
            if waiter.stage() != Stage::Queued {
                return Wait::Over;
            }
            let locked = self.lock();
            if waiter.stage() != Stage::Queued {
                return Wait::Over;
            }
            if locked.has_stale() {
                locked.release_stale();
                continue;
            }
            let Some(waker) = waker else {
                return Wait::On;
            };
            // SAFETY: we have the lock, and the waiter is in this line.
            if let Some(old) = unsafe { locked.set_waker(waiter, waker, &mut fresh) } {
                drop(locked);
                drop(old);
                return Wait::On;
            }
            drop(locked);
            fresh = Some(waker.clone());
        }
    }

    /// Takes a waiter out of the line, if it is in one. Its stage is then idle or says how it was
    /// released before.
    ///
    /// # Safety
    /// The waiter must not have entered another queue.
    #[inline]
    pub(crate) unsafe fn leave(&self, waiter: Pin<&Waiter>) -> Stage {
        match waiter.stage() {
            // SAFETY: by contract it is this queue that it entered.
            Stage::Queued => unsafe { self.leave_line(waiter) },
            stage => stage,
        }
    }

    /// # Safety
    /// The waiter must have entered this queue.
    #[cold]
    unsafe fn leave_line(&self, waiter: Pin<&Waiter>) -> Stage {
        let locked = self.lock();
        let stage = waiter.stage();
        if stage != Stage::Queued {
            return stage;
        }
        // SAFETY: we have the lock, and the waiter is in this line.
        let waker = unsafe { locked.remove(waiter, Stage::Idle) };
        drop(locked);
        drop(waker);
        Stage::Idle
    }
}
