//! The line, while somebody has it to itself.

use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Waker;

use wakeful_base::WakeList;
use wakeful_base::list::List;
use wakeful_base::sync::atomic::Ordering::*;

use super::waiter::ByLinks;
use super::{Stage, WaitQueue, Waiter, Word};

/// Waiters in the order they came.
pub(super) struct Line {
    waiters: List<ByLinks>,
    /// The last of those that may go: it and all before it. None if all have to wait.
    last_stale: Option<NonNull<Waiter>>,
}

impl Line {
    pub(super) const fn new() -> Self {
        Line { waiters: List::new(), last_stale: None }
    }

    /// # Safety
    /// The waiter must be in this line.
    #[inline]
    unsafe fn remove(&mut self, waiter: NonNull<Waiter>) {
        if self.last_stale == Some(waiter) {
            // SAFETY: it is in the list.
            self.last_stale = unsafe { self.waiters.before(waiter) };
        }
        // SAFETY: as above.
        let was_in = unsafe { self.waiters.remove(waiter) };
        debug_assert!(was_in, "a waiter marked as queued is in its queue's line");
    }
}

/// The right to touch the line; unlocks when dropped.
pub(crate) struct LockedLine<'a> {
    queue: &'a WaitQueue,
    /// What the word will be, but for LOCKED and WAITING.
    word: Word,
}

impl<'a> LockedLine<'a> {
    /// For who has just locked `queue`, whose word was `word` then.
    #[inline]
    pub(super) fn new(queue: &'a WaitQueue, word: Word) -> Self {
        LockedLine { queue, word }
    }

    #[inline]
    fn with_line<R>(&self, f: impl FnOnce(&mut Line) -> R) -> R {
        // SAFETY: only the lock's holder touches the line, and `f` has no way back to here.
        self.queue.line.with_mut(|line| f(unsafe { &mut *line }))
    }

    /// The word this line will be unlocked with.
    pub(crate) fn word(&self) -> Word {
        self.word
    }

    /// Changes the word, and with it who may go. Others see it when the line is unlocked.
    #[inline]
    pub(crate) fn set_word(&mut self, word: Word) {
        if word.releases_from(self.word) {
            self.with_line(|line| line.last_stale = line.waiters.back());
        }
        self.word = word;
    }

    /// Whether there are waiters that may go, since their round is over or the flag set.
    #[inline]
    pub(crate) fn has_stale(&self) -> bool {
        self.with_line(|line| line.last_stale.is_some())
    }

    /// Puts `waiter` last; it has to wait.
    ///
    /// # Safety
    /// The waiter must be the caller's, idle, and leave the line before it is dropped.
    #[inline]
    pub(super) unsafe fn push(&self, waiter: Pin<&Waiter>, waker: Option<Waker>) {
        let waiter = waiter.get_ref();
        // SAFETY: an idle waiter belongs to its owner, the caller.
        unsafe { waiter.park(waker) };
        // SAFETY: the waiter is pinned, was idle until now, and leaves the line before it is dropped.
        self.with_line(|line| unsafe { line.waiters.push_back(NonNull::from(waiter)) });
    }

    /// Takes the first waiter out and marks it released; its waker is for the caller to call.
    #[inline]
    pub(crate) fn release_first(&mut self, stage: Stage) -> Option<Option<Waker>> {
        let first = self.with_line(|line| line.waiters.front())?;
        // SAFETY: it is in this line.
        Some(unsafe { self.release(first, stage) })
    }

    /// Takes the last waiter out and marks it released; its waker is for the caller to call.
    pub(crate) fn release_last(&mut self, stage: Stage) -> Option<Option<Waker>> {
        let last = self.with_line(|line| line.waiters.back())?;
        // SAFETY: it is in this line.
        Some(unsafe { self.release(last, stage) })
    }

    /// Releases all waiters that may go, and unlocks.
    ///
    /// The lock is let go while wakers are called, so many at a time as a [`WakeList`] holds. Should one
    /// panic, the others are called before the panic goes on.
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
            if let Some(waker) = self.release_first(Stage::All).flatten() {
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

    /// Takes `waiter` out of the line, to `stage`; the waker is to be dropped after the lock.
    ///
    /// # Safety
    /// The waiter must be in this line.
    pub(super) unsafe fn remove(&self, waiter: Pin<&Waiter>, stage: Stage) -> Option<Waker> {
        // SAFETY: the caller's promise.
        unsafe { self.release(NonNull::from(waiter.get_ref()), stage) }
    }

    /// # Safety
    /// The waiter must be in this line.
    #[inline]
    unsafe fn release(&self, waiter: NonNull<Waiter>, stage: Stage) -> Option<Waker> {
        // SAFETY: the caller's promise.
        self.with_line(|line| unsafe { line.remove(waiter) });
        // SAFETY: a waiter that is still marked as queued is live, and its waker the lock holder's.
        unsafe { waiter.as_ref().release(stage) }
    }

    /// Sees to it that calling `waiter`'s waker is as good as calling `waker`, with `fresh` if it is not.
    /// Returns what is to be dropped after the lock; `None` if a fresh one is missing.
    ///
    /// # Safety
    /// The waiter must be in this line.
    pub(super) unsafe fn set_waker(
        &self,
        waiter: Pin<&Waiter>,
        waker: &Waker,
        fresh: &mut Option<Waker>,
    ) -> Option<Option<Waker>> {
        // SAFETY: the waiter is in the line that we have locked.
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
