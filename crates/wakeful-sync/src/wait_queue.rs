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
//!     ▲                  │ (3) leave, or refresh: sees a new round                │
//!     └──────────────────┴──────────────────────(4) reset────────────────────────┘
//! ```
//!
//! (1), (3) and (4) are steps of the future that owns the waiter, (2) of somebody else. (1), (2) and (3)
//! need the lock. The waker belongs to the lock's holder while QUEUED, otherwise to the owner; so (2)
//! is the last thing anybody else does to a waiter, and a released one may be dropped at once.
//!
//! The line is first in, first out, so waiters of earlier rounds stand before those of the present one.
//! Any holder of the lock may release them; that is why telling them in batches, with the lock let go
//! in between, needs no second list.

use std::marker::PhantomPinned;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Poll, Waker};

use wakeful_base::list::{Link, Links, List};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicU8, AtomicU64, Ordering::*};

use crate::backoff::Backoff;
use wakeful_base::WakeList;

const LOCKED: u64 = 1 << 0;
const WAITING: u64 = 1 << 1;
const FLAG: u64 = 1 << 2;
const ROUND_SHIFT: u32 = 3;
const ONE_ROUND: u64 = 1 << ROUND_SHIFT;

/// What the queue's word said at some moment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u64);

impl Word {
    pub(crate) const fn new(flag: bool) -> Self {
        Word(if flag { FLAG } else { 0 })
    }

    pub(crate) fn round(self) -> Round {
        Round(self.0 >> ROUND_SHIFT)
    }

    pub(crate) fn flag(self) -> bool {
        self.0 & FLAG != 0
    }

    /// Only to be trusted in a word from [`WaitQueue::settled`].
    pub(crate) fn has_waiters(self) -> bool {
        self.0 & WAITING != 0
    }

    pub(crate) fn with_flag(self, flag: bool) -> Self {
        Word(if flag { self.0 | FLAG } else { self.0 & !FLAG })
    }

    pub(crate) fn in_next_round(self) -> Self {
        Word(self.0.wrapping_add(ONE_ROUND))
    }

    fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Whether a waiter that came in `round` still has to wait.
    fn keeps_waiting(self, round: Round) -> bool {
        self.round() == round && !self.flag()
    }
}

/// A count of rounds; wraps around after 2⁶¹.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Round(u64);

impl Round {
    /// The round that every queue begins with.
    pub(crate) const FIRST: Round = Round(0);

    const MASK: u64 = u64::MAX >> ROUND_SHIFT;

    pub(crate) fn plus(self, rounds: u64) -> Round {
        Round(self.0.wrapping_add(rounds) & Self::MASK)
    }

    pub(crate) fn minus(self, rounds: u64) -> Round {
        Round(self.0.wrapping_sub(rounds) & Self::MASK)
    }

    /// How many rounds have passed since `earlier`.
    pub(crate) fn since(self, earlier: Round) -> u64 {
        self.minus(earlier.0).0
    }

    /// Whether this round comes before `other`, the two being less than half of all rounds apart.
    pub(crate) fn is_before(self, other: Round) -> bool {
        other != self && other.since(self) <= Self::MASK / 2
    }

    /// The place of this round in a ring of `mask + 1` slots.
    pub(crate) fn slot(self, mask: usize) -> usize {
        self.0 as usize & mask
    }
}

/// Where a waiter stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Stage {
    /// In no line.
    Idle,
    /// In line.
    Queued,
    /// Released alone, as the first in line.
    First,
    /// Released alone, as the last in line.
    Last,
    /// Released with all others of its round.
    All,
}

impl Stage {
    #[inline]
    fn from_u8(stage: u8) -> Self {
        match stage {
            0 => Stage::Idle,
            1 => Stage::Queued,
            2 => Stage::First,
            3 => Stage::Last,
            4 => Stage::All,
            _ => unreachable!("a stage is only ever stored from a `Stage`"),
        }
    }
}

/// One future's place in a line; lies inside that future.
pub(crate) struct Waiter {
    links: Links<Waiter>,
    parked: UnsafeCell<Parked>,
    stage: AtomicU8,
    _pinned: PhantomPinned,
}

struct Parked {
    waker: Option<Waker>,
    /// The round the waiter came in.
    round: Round,
}

// SAFETY: `parked` and `links` are touched under the queue's lock or, outside a line, by the owner.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    #[inline]
    pub(crate) fn new() -> Self {
        Waiter {
            links: Links::new(),
            parked: UnsafeCell::new(Parked { waker: None, round: Round::FIRST }),
            stage: AtomicU8::new(Stage::Idle as u8),
            _pinned: PhantomPinned,
        }
    }

    /// Where the waiter stands. If it was released, what its releaser did before is visible.
    #[inline]
    pub(crate) fn stage(&self) -> Stage {
        Stage::from_u8(self.stage.load(Acquire))
    }

    /// Makes a released waiter ready to enter again.
    ///
    /// Only its owner calls this.
    #[inline]
    pub(crate) fn reset(&self) {
        debug_assert_ne!(self.stage(), Stage::Queued, "a waiter in line belongs to the line");
        self.stage.store(Stage::Idle as u8, Relaxed);
    }
}

/// Finds a waiter's links.
struct ByLinks;

// SAFETY: `links` is a field of the waiter; the list alone writes to it.
unsafe impl Link for ByLinks {
    type Node = Waiter;

    unsafe fn links(node: NonNull<Waiter>) -> NonNull<Links<Waiter>> {
        // SAFETY: the caller gives a live waiter, so its field is in bounds.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}

/// The word and the line behind it.
pub(crate) struct WaitQueue {
    word: AtomicU64,
    /// Touched by the lock's holder only.
    line: UnsafeCell<List<ByLinks>>,
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
        WaitQueue { word: AtomicU64::new(word.0), line: UnsafeCell::new(List::new()) }
    }

    /// A queue with nobody in line.
    #[cfg(wakeful_loom)]
    pub(crate) fn new(word: Word) -> Self {
        WaitQueue { word: AtomicU64::new(word.0), line: UnsafeCell::new(List::new()) }
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
        self.change(from, Word(to.0 | LOCKED))?;
        Ok(LockedLine { queue: self, word: to })
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
        let waiter = waiter.get_ref();
        let round = saw.round();
        // SAFETY: an idle waiter belongs to its owner, the caller.
        let before = waiter
            .parked
            .with_mut(|parked| unsafe { std::mem::replace(&mut *parked, Parked { waker, round }) });
        debug_assert!(before.waker.is_none(), "an idle waiter has no waker");
        std::mem::forget(before);
        waiter.stage.store(Stage::Queued as u8, Relaxed);
        // SAFETY: the waiter is pinned, idle until now, and leaves the line before it is dropped.
        locked.with_line(|line| unsafe { line.push_back(NonNull::from(waiter)) });
        Ok(())
    }

    /// Sees to it that a waiter that entered has an up-to-date waker, if it has still to wait.
    ///
    /// After `Over` the waiter's stage says why: idle means that it was taken out here, because a new
    /// round or the flag has released it.
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
            // SAFETY: we have the lock, and the waiter is in this line.
            if !locked.word.keeps_waiting(unsafe { locked.round_of(waiter.get_ref().into()) }) {
                // SAFETY: as above.
                let old = unsafe { locked.remove(waiter) };
                drop(locked);
                drop(old);
                return Wait::Over;
            }
            let Some(waker) = waker else {
                return Wait::On;
            };
            let old = waiter.parked.with_mut(|parked| {
                // SAFETY: as above.
                let current = unsafe { &mut (*parked).waker };
                match current {
                    Some(old) if old.will_wake(waker) => Some(None),
                    _ => fresh.take().map(|fresh| current.replace(fresh)),
                }
            });
            if let Some(old) = old {
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
        let waker = unsafe { locked.remove(waiter) };
        drop(locked);
        drop(waker);
        Stage::Idle
    }
}

/// The right to touch the line; unlocks when dropped.
pub(crate) struct LockedLine<'a> {
    queue: &'a WaitQueue,
    /// What the word will be, but for LOCKED and WAITING.
    word: Word,
}

impl LockedLine<'_> {
    #[inline]
    fn with_line<R>(&self, f: impl FnOnce(&mut List<ByLinks>) -> R) -> R {
        // SAFETY: only the lock's holder touches the line, and `f` has no way back to here.
        self.queue.line.with_mut(|line| f(unsafe { &mut *line }))
    }

    /// The word this line will be unlocked with.
    pub(crate) fn word(&self) -> Word {
        self.word
    }

    /// Changes the word. Takes effect when the line is unlocked.
    pub(crate) fn set_word(&mut self, word: Word) {
        self.word = word;
    }

    /// Whether there are waiters that may go, since their round is over or the flag set.
    #[inline]
    pub(crate) fn has_stale(&self) -> bool {
        let first = self.with_line(|line| line.front());
        // SAFETY: we have the lock, and the waiter is in this line.
        first.is_some_and(|first| !self.word.keeps_waiting(unsafe { self.round_of(first) }))
    }

    /// Takes the first waiter out and marks it released; its waker is for the caller to call.
    #[inline]
    pub(crate) fn release_first(&mut self, stage: Stage) -> Option<Option<Waker>> {
        let waiter = self.with_line(List::pop_front)?;
        // SAFETY: it was in this line and now is not.
        Some(unsafe { self.release(waiter, stage) })
    }

    /// Takes the last waiter out and marks it released; its waker is for the caller to call.
    pub(crate) fn release_last(&mut self, stage: Stage) -> Option<Option<Waker>> {
        let waiter = self.with_line(List::pop_back)?;
        // SAFETY: it was in this line and now is not.
        Some(unsafe { self.release(waiter, stage) })
    }

    /// Releases all waiters that may go, and unlocks.
    ///
    /// The lock is let go while wakers are called, so many at a time as a [`WakeList`] holds. Should one
    /// panic, who is left is released by whoever calls this next.
    pub(crate) fn release_stale(mut self) {
        let queue = self.queue;
        let mut wakers = WakeList::new();
        while self.has_stale() {
            if let Some(waker) = self.release_first(Stage::All).flatten() {
                wakers.push(waker);
            }
            if !wakers.can_push() {
                drop(self);
                wakers.wake_all();
                self = queue.lock();
            }
        }
        drop(self);
        wakers.wake_all();
    }

    /// # Safety
    /// The waiter must have been in this line until now.
    #[inline]
    unsafe fn release(&self, waiter: NonNull<Waiter>, stage: Stage) -> Option<Waker> {
        // SAFETY: a waiter that is still marked as queued is live, and its waker the lock holder's.
        let waiter = unsafe { waiter.as_ref() };
        // SAFETY: as above.
        let waker = waiter.parked.with_mut(|parked| unsafe { (*parked).waker.take() });
        // The owner may drop the waiter from here on.
        waiter.stage.store(stage as u8, Release);
        waker
    }

    /// Takes `waiter` out of the line; the waker is to be dropped after the lock.
    ///
    /// # Safety
    /// The waiter must be in this line.
    unsafe fn remove(&self, waiter: Pin<&Waiter>) -> Option<Waker> {
        let node = NonNull::from(waiter.get_ref());
        // SAFETY: the waiter is in this line by contract.
        let was_in = self.with_line(|line| unsafe { line.remove(node) });
        debug_assert!(was_in, "a waiter marked as queued is in its queue's line");
        // SAFETY: as above.
        unsafe { self.release(node, Stage::Idle) }
    }

    /// # Safety
    /// The waiter must be in this line.
    #[inline]
    unsafe fn round_of(&self, waiter: NonNull<Waiter>) -> Round {
        // SAFETY: what is in the line is live, and `parked` the lock holder's.
        unsafe { waiter.as_ref().parked.with(|parked| (*parked).round) }
    }
}

impl Drop for LockedLine<'_> {
    #[inline]
    fn drop(&mut self) {
        let rest = self.word.0 & !(LOCKED | WAITING);
        let waiting = if self.with_line(|line| line.is_empty()) { 0 } else { WAITING };
        self.queue.word.store(rest | waiting, Release);
    }
}
