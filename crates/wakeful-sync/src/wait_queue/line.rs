//! The line: the list of waiters, and exclusive access to it.

use std::cell::Cell;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Waker;

use wakeful_base::WakeList;
use wakeful_base::list::List;
use wakeful_base::sync::atomic::Ordering::*;

use super::waiter::WaiterLink;
use super::{WaitQueue, Waiter, WaiterStage, Word};

/// The waiters in the order in which they came.
pub(super) struct Line {
    waiters: List<WaiterLink>,
    /// The last stale waiter; all before it are stale too. `None` if each waiter has to wait.
    last_stale: Option<NonNull<Waiter>>,
}

impl Line {
    pub(super) const fn new() -> Self {
        Line { waiters: List::new(), last_stale: None }
    }

    /// Unlinks `waiter`.
    ///
    /// # Safety
    /// The waiter must be in this line.
    #[inline]
    unsafe fn remove(&mut self, waiter: NonNull<Waiter>) {
        if self.last_stale == Some(waiter) {
            // SAFETY: by contract it is in the list.
            self.last_stale = unsafe { self.waiters.before(waiter) };
        }
        // SAFETY: as above.
        let was_in = unsafe { self.waiters.remove(waiter) };
        debug_assert!(was_in, "a waiter marked as queued is in its queue's line");
    }
}

/// Exclusive access to the line of a queue. Unlocks when dropped.
pub(crate) struct LockedLine<'a> {
    queue: &'a WaitQueue,
    /// The word to unlock with, except for LOCKED and WAITING.
    word: Word,
    /// Makes this type `!Sync`: `with_line` gives access to the line through a shared reference.
    _not_sync: PhantomData<Cell<()>>,
}

impl<'a> LockedLine<'a> {
    /// Wraps the lock that the caller has just taken; `word` was the word then.
    #[inline]
    pub(super) fn new(queue: &'a WaitQueue, word: Word) -> Self {
        LockedLine { queue, word, _not_sync: PhantomData }
    }

    #[inline]
    fn with_line<R>(&self, f: impl FnOnce(&mut Line) -> R) -> R {
        // SAFETY: the lock's holder has exclusive access to the line, and this `LockedLine` is that
        // lock. It is `!Sync`, so only one thread uses it at a time. The closures, all in this
        // file, do not call this function.
        self.queue.line.with_mut(|line| f(unsafe { &mut *line }))
    }

    /// Returns the word that the line will be unlocked with.
    pub(crate) fn word(&self) -> Word {
        self.word
    }

    /// Changes the word, which makes all waiters stale if it is in a new round or sets the flag.
    /// Other threads see it once the line is unlocked.
    #[inline]
    pub(crate) fn set_word(&mut self, word: Word) {
        if word.releases_from(self.word) {
            self.with_line(|line| line.last_stale = line.waiters.back());
        }
        self.word = word;
    }

    /// Returns whether there are stale waiters, whose round is over or that the flag releases.
    #[inline]
    pub(crate) fn has_stale(&self) -> bool {
        self.with_line(|line| line.last_stale.is_some())
    }

    /// Appends `waiter`, which has to wait.
    ///
    /// # Safety
    /// The waiter must be the caller's and idle, and must leave the line before it is dropped.
    #[inline]
    pub(super) unsafe fn push(&self, waiter: Pin<&Waiter>, waker: Option<Waker>) {
        let waiter = waiter.get_ref();
        // SAFETY: an idle waiter belongs to its owner, and that is the caller.
        unsafe { waiter.mark_queued(waker) };
        // SAFETY: it was idle, so it is in no list. It is pinned and, by contract, leaves the line
        // before it is dropped.
        self.with_line(|line| unsafe { line.waiters.push_back(NonNull::from(waiter)) });
    }

    /// Takes the first waiter out and marks it released. The caller has to call its waker.
    #[inline]
    pub(crate) fn release_first(&mut self, stage: WaiterStage) -> Option<Option<Waker>> {
        let first = self.with_line(|line| line.waiters.front())?;
        // SAFETY: it is in this line, as its first element.
        Some(unsafe { self.release(first, stage) })
    }

    /// Takes the last waiter out and marks it released. The caller has to call its waker.
    pub(crate) fn release_last(&mut self, stage: WaiterStage) -> Option<Option<Waker>> {
        let last = self.with_line(|line| line.waiters.back())?;
        // SAFETY: it is in this line, as its last element.
        Some(unsafe { self.release(last, stage) })
    }

    /// Releases and wakes all stale waiters, and unlocks.
    ///
    /// Wakers are called in batches of as many as a [`WakeList`] holds, with the line unlocked. If
    /// one panics, the remaining ones are called before the panic continues.
    #[inline]
    pub(crate) fn release_stale(self) {
        if self.has_stale() {
            self.release_all_stale();
        }
    }

    fn release_all_stale(mut self) {
        let queue = self.queue;
        let mut wakers = WakeList::new();
        while self.has_stale() {
            if let Some(waker) = self.release_first(WaiterStage::All).flatten() {
                wakers.push(waker);
            }
            if !wakers.can_push() {
                drop(self);
                wakers.wake_batch();
                self = queue.lock();
            }
        }
        drop(self);
        wakers.wake_all();
    }

    /// Takes `waiter` out of the line, to `stage`. The caller has to unlock before it drops the
    /// waker.
    ///
    /// # Safety
    /// The waiter must be in this line.
    pub(super) unsafe fn remove(&self, waiter: Pin<&Waiter>, stage: WaiterStage) -> Option<Waker> {
        // SAFETY: by contract.
        unsafe { self.release(NonNull::from(waiter.get_ref()), stage) }
    }

    /// Unlinks `waiter` and marks it as released with `stage`; returns its waker.
    ///
    /// # Safety
    /// The waiter must be in this line.
    #[inline]
    unsafe fn release(&self, waiter: NonNull<Waiter>, stage: WaiterStage) -> Option<Waker> {
        // SAFETY: by contract it is in this line.
        self.with_line(|line| unsafe { line.remove(waiter) });
        // SAFETY: the waiter is still marked as queued. So it is live, since its owner needs the
        // lock to make it leave, and it belongs to the lock's holder, which we are.
        unsafe { waiter.as_ref().release(stage) }
    }

    /// Makes sure that `waiter`'s waker wakes the same task as `waker`, by storing `fresh` if not.
    ///
    /// Returns the waker that was replaced, to be dropped after unlocking; or `None` if `fresh` was
    /// needed and is missing.
    ///
    /// # Safety
    /// The waiter must be in this line.
    pub(super) unsafe fn set_waker(
        &self,
        waiter: Pin<&Waiter>,
        waker: &Waker,
        fresh: &mut Option<Waker>,
    ) -> Option<Option<Waker>> {
        // SAFETY: the waiter is in the line that we have locked, and thus queued.
        unsafe { waiter.get_ref().set_waker(waker, fresh) }
    }
}

impl Drop for LockedLine<'_> {
    #[inline]
    fn drop(&mut self) {
        let has_waiters = !self.with_line(|line| line.waiters.is_empty());
        self.queue.word.store(self.word.unlocked(has_waiters).0, Release);
    }
}
