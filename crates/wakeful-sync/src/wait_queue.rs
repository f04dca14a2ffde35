//! A queue of futures that wait for an event, guarded by one atomic word.
//!
//! [`Notify`](crate::Notify), `watch`, `broadcast` and [`SetOnce`](crate::SetOnce) are built on it.
//! The word counts *rounds*. A waiter has to wait while the word is in the round in which the
//! waiter came and the flag is not set. A thread that starts a new round or sets the flag thereby
//! releases all waiters at once. It then walks through the *line*, the list of waiters, to take
//! them out and wake them.
//!
//! - `word.rs`: the word as a value. [`WaitQueue`], in this file, changes it.
//! - `line.rs`: the line. [`LockedLine`] is the right to access it.
//! - `waiter.rs`: a [`Waiter`], the list node inside a waiting future, and its stages.
//!
//! ```text
//!   63                                3      2        1        0
//!   ┌──────────────────────────────────┬──────┬─────────┬────────┐
//!   │              round               │ FLAG │ WAITING │ LOCKED │
//!   └──────────────────────────────────┴──────┴─────────┴────────┘
//! ```
//!
//! - LOCKED: one thread has exclusive access to the line. No other thread changes the word
//!   meanwhile, so a plain store unlocks it.
//! - WAITING: the line is not empty. Only valid in a word that is not locked.
//! - FLAG: its meaning is up to the user of the queue. In `Notify`, a permit is stored; in a
//!   channel, it is closed; in `SetOnce`, the value is set.
//! - round: counts calls of `notify_waiters` in `Notify`, versions in `watch`, values sent in
//!   `broadcast`.
//!
//! Waiting is cheap because the lock, the counter and the flag share one word. A single
//! compare-and-swap checks that there is nothing to return yet and locks the line; likewise, a
//! single one starts a round and locks the line to release its waiters. The lock is held for a few
//! instructions, and never while user code (a waker) runs.
//!
//! The life of a waiter:
//!
//! ```text
//!          (1) enter                      (2) release: takes the waker
//!   IDLE ────────────▶ QUEUED ─────────────────────────────────────────▶ FIRST | LAST | ALL
//!    │ ▲                 │ (3) leave                                              │  │
//!    │ └─────────────────┴──────────────────────(4) reset─────────────────────────┘  │
//!    └──────────────────────────▶ OVER ◀────────(5) finish───────────────────────────┘
//! ```
//!
//! The future that owns the waiter takes steps (1), (3), (4) and (5). Step (2) is taken by the
//! notifying thread, or by any other holder of the lock, the owner included, if it finds stale
//! waiters in the line. Steps (1), (2) and (3) need the lock. The waker belongs to the lock's
//! holder while QUEUED and to the owner otherwise. So step (2) is the last access to a waiter by a
//! thread other than its owner, and the owner may drop a released waiter at once.
//!
//! The line is first in, first out, so waiters of earlier rounds, called *stale*, come before those
//! of the current one. A queued waiter does not record its round. Instead the line remembers the
//! last stale waiter: when a lock holder starts a round or sets the flag, that is the last waiter
//! in the line. Any holder of the lock may release stale waiters. So they can be released in
//! batches, with the lock given up in between to call wakers, and need no second list. Code that
//! has to know whether one particular waiter is released first releases all stale ones; each waiter
//! that remains in the line then has to wait.

mod line;
mod waiter;
mod word;

pub(crate) use line::LockedLine;
pub(crate) use waiter::{Waiter, WaiterStage};
pub(crate) use word::{Round, Word};

use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Poll, Waker};

use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicU64, Ordering::*};

use crate::backoff::Backoff;
use line::Line;

/// The word, and the line that it locks.
pub(crate) struct WaitQueue {
    word: AtomicU64,
    /// Accessed by the lock's holder only.
    line: UnsafeCell<Line>,
}

// SAFETY: `line` is only accessed by the thread that has set LOCKED in `word`. Its nodes are
// `Waiter`s, which are `Send`.
unsafe impl Send for WaitQueue {}
// SAFETY: as above.
unsafe impl Sync for WaitQueue {}
// No user code runs while the line is locked, so a panic cannot leave it inconsistent.
impl UnwindSafe for WaitQueue {}
impl RefUnwindSafe for WaitQueue {}

/// The outcome of a check of a waiter that was queued.
#[must_use]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WaitStatus {
    /// The waiter is queued, with an up-to-date waker.
    Waiting,
    /// The waiter has been released.
    Over,
}

impl WaitQueue {
    /// Creates a queue without waiters.
    #[cfg(not(wakeful_loom))]
    pub(crate) const fn new(word: Word) -> Self {
        WaitQueue { word: AtomicU64::new(word.0), line: UnsafeCell::new(Line::new()) }
    }

    /// Creates a queue without waiters.
    #[cfg(wakeful_loom)]
    pub(crate) fn new(word: Word) -> Self {
        WaitQueue { word: AtomicU64::new(word.0), line: UnsafeCell::new(Line::new()) }
    }

    /// Returns the current word, locked or not. Its round and flag are valid in either case.
    #[inline]
    pub(crate) fn load(&self) -> Word {
        Word(self.word.load(Acquire))
    }

    /// Returns the current word once it is not locked, as needed to change it.
    #[inline]
    pub(crate) fn load_unlocked(&self) -> Word {
        self.ensure_unlocked(self.load())
    }

    #[inline]
    fn ensure_unlocked(&self, word: Word) -> Word {
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

    /// Replaces the unlocked word `from` without locking the line.
    ///
    /// If the word is no longer `from`, fails with the current word, once that is unlocked.
    #[inline]
    pub(crate) fn change(&self, from: Word, to: Word) -> Result<(), Word> {
        debug_assert!(!from.is_locked(), "a locked word belongs to the lock's holder");
        match self.word.compare_exchange(from.0, to.0, AcqRel, Acquire) {
            Ok(_) => Ok(()),
            Err(now) => Err(self.ensure_unlocked(Word(now))),
        }
    }

    /// Replaces the unlocked word `from` and locks the line, in one step.
    ///
    /// If the word is no longer `from`, fails with the current word, once that is unlocked.
    #[inline]
    pub(crate) fn lock_changing(&self, from: Word, to: Word) -> Result<LockedLine<'_>, Word> {
        self.change(from, to.locked())?;
        let mut locked = LockedLine::new(self, from);
        locked.set_word(to);
        Ok(locked)
    }

    /// Locks the line, leaving the word as it is otherwise.
    #[inline]
    pub(crate) fn lock(&self) -> LockedLine<'_> {
        let mut word = self.load_unlocked();
        loop {
            match self.lock_changing(word, word) {
                Ok(locked) => return locked,
                Err(now) => word = now,
            }
        }
    }

    /// Replaces the word by `change(word)`. If there are waiters, also locks the line and returns
    /// it.
    #[inline]
    #[must_use = "waiters must be released"]
    pub(crate) fn update(&self, change: impl Fn(Word) -> Word) -> Option<LockedLine<'_>> {
        let mut word = self.load_unlocked();
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

    /// Waits until `round` is over or the flag is set, then returns the word.
    ///
    /// # Safety
    /// The waiter must be the caller's and must have entered no other queue. The caller must make
    /// it [`leave`](Self::leave) this queue before it is dropped.
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
            if !word.must_wait(round) {
                return Poll::Ready(word);
            }
            if waiter.stage() != WaiterStage::Idle {
                // SAFETY: it is not idle, so it has entered a queue; by contract, this one.
                if unsafe { self.refresh(waiter, Some(waker)) } == WaitStatus::Waiting {
                    return Poll::Pending;
                }
                // SAFETY: the waiter is the caller's, by contract. `refresh` found that it has been
                // released, so it is in no line, and only its owner makes it enter one.
                unsafe { waiter.reset() };
                word = self.load();
                continue;
            }
            let unlocked = self.ensure_unlocked(word);
            if unlocked != word {
                word = unlocked;
                continue;
            }
            let waker = cloned.take().unwrap_or_else(|| waker.clone());
            // SAFETY: the waiter is idle (checked above). By contract it is the caller's and leaves
            // this queue before it is dropped.
            match unsafe { self.enter(word, waiter, Some(waker)) } {
                Ok(()) => return Poll::Pending,
                Err((now, waker)) => (word, cloned) = (now, waker),
            }
        }
    }

    /// Appends an idle `waiter` to the line, if the word is still what the caller `saw`.
    ///
    /// Otherwise fails with the current word, once that is unlocked, and gives the waker back.
    ///
    /// # Safety
    /// The waiter must be the caller's and idle. The caller must make it [`leave`](Self::leave)
    /// this queue before it is dropped.
    #[inline]
    pub(crate) unsafe fn enter(
        &self,
        saw: Word,
        waiter: Pin<&Waiter>,
        waker: Option<Waker>,
    ) -> Result<(), (Word, Option<Waker>)> {
        debug_assert_eq!(
            waiter.stage(),
            WaiterStage::Idle,
            "a waiter enters a line only if it is idle"
        );
        let locked = match self.lock_changing(saw, saw) {
            Ok(locked) => locked,
            Err(now) => return Err((now, waker)),
        };
        // SAFETY: by contract the waiter is the caller's and idle, so it is in no line, and it
        // leaves the line before it is dropped. It is pinned until then.
        unsafe { locked.push(waiter, waker) };
        Ok(())
    }

    /// Checks whether a waiter that has entered still has to wait. If so, stores `waker` in it.
    ///
    /// If there are stale waiters, releases them all first, since this waiter may be one of them.
    /// After `Over`, the waiter's stage says how it was released.
    ///
    /// # Safety
    /// The waiter must have entered this queue.
    pub(crate) unsafe fn refresh(&self, waiter: Pin<&Waiter>, waker: Option<&Waker>) -> WaitStatus {
        // Cloned while the line is not locked, and only if the stored waker is a different one.
        let mut fresh = None;
        loop {
            if waiter.stage() != WaiterStage::Queued {
                return WaitStatus::Over;
            }
            let locked = self.lock();
            if waiter.stage() != WaiterStage::Queued {
                return WaitStatus::Over;
            }
            if locked.has_stale() {
                // Contains panics of their wakers, which belong to other tasks: this is a poll, and
                // its unwinding would drop the wakers of the future that is polled.
                contain_panic(|| locked.release_stale());
                continue;
            }
            let Some(waker) = waker else {
                return WaitStatus::Waiting;
            };
            // SAFETY: we hold the lock. The waiter is queued, and by contract in this line.
            if let Some(old) = unsafe { locked.set_waker(waiter, waker, &mut fresh) } {
                drop(locked);
                drop(old);
                return WaitStatus::Waiting;
            }
            drop(locked);
            fresh = Some(waker.clone());
        }
    }

    /// Takes the waiter out of the line if it is queued. Returns its stage afterwards, which says
    /// how it was released if it was.
    ///
    /// # Safety
    /// The waiter must not have entered another queue.
    #[inline]
    pub(crate) unsafe fn leave(&self, waiter: Pin<&Waiter>) -> WaiterStage {
        match waiter.stage() {
            // SAFETY: it has entered a queue; by contract, this one.
            WaiterStage::Queued => unsafe { self.leave_line(waiter) },
            stage => stage,
        }
    }

    /// Locks the line and removes the waiter: the slow path of [`leave`](Self::leave).
    ///
    /// # Safety
    /// The waiter must have entered this queue.
    #[cold]
    unsafe fn leave_line(&self, waiter: Pin<&Waiter>) -> WaiterStage {
        let locked = self.lock();
        let stage = waiter.stage();
        if stage != WaiterStage::Queued {
            return stage;
        }
        // SAFETY: we hold the lock. The waiter is queued, and by contract in this line.
        let waker = unsafe { locked.remove(waiter, WaiterStage::Idle) };
        drop(locked);
        // The caller may hold the value that it waited for, or have other user code to drop.
        contain_panic(|| drop(waker));
        WaiterStage::Idle
    }
}
