//! The line, while somebody has it to itself.

use std::pin::Pin;
use std::ptr::NonNull;
use std::task::Waker;

use wakeful_base::WakeList;
use wakeful_base::list::List;
use wakeful_base::sync::atomic::Ordering::*;

use super::waiter::ByLinks;
use super::{Stage, WaitQueue, Waiter, Word};

/// The right to touch the line; unlocks when dropped.
pub(crate) struct LockedLine<'a> {
    queue: &'a WaitQueue,
    /// What the word will be, but for LOCKED and WAITING.
    word: Word,
}

impl<'a> LockedLine<'a> {
    /// For who has just locked `queue`, to be unlocked with `word`.
    #[inline]
    pub(super) fn new(queue: &'a WaitQueue, word: Word) -> Self {
        LockedLine { queue, word }
    }

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
        first.is_some_and(|first| !unsafe { self.keeps_waiting(first) })
    }

    /// Puts `waiter` last.
    ///
    /// # Safety
    /// The waiter must be the caller's, idle, and leave the line before it is dropped.
    #[inline]
    pub(super) unsafe fn push(&self, waiter: Pin<&Waiter>, waker: Option<Waker>) {
        let waiter = waiter.get_ref();
        // SAFETY: an idle waiter belongs to its owner, the caller.
        unsafe { waiter.park(self.word.round(), waker) };
        // SAFETY: the waiter is pinned, was idle until now, and leaves the line before it is dropped.
        self.with_line(|line| unsafe { line.push_back(NonNull::from(waiter)) });
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
        unsafe { waiter.as_ref().release(stage) }
    }

    /// Takes `waiter` out of the line, to `stage`; the waker is to be dropped after the lock.
    ///
    /// # Safety
    /// The waiter must be in this line.
    pub(super) unsafe fn remove(&self, waiter: Pin<&Waiter>, stage: Stage) -> Option<Waker> {
        let node = NonNull::from(waiter.get_ref());
        // SAFETY: the waiter is in this line by contract.
        let was_in = self.with_line(|line| unsafe { line.remove(node) });
        debug_assert!(was_in, "a waiter marked as queued is in its queue's line");
        // SAFETY: as above.
        unsafe { self.release(node, stage) }
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

    /// Whether `waiter` has still to wait.
    ///
    /// # Safety
    /// The waiter must be in this line.
    #[inline]
    pub(super) unsafe fn keeps_waiting(&self, waiter: NonNull<Waiter>) -> bool {
        // SAFETY: what is in the line is live.
        self.word.keeps_waiting(unsafe { waiter.as_ref() }.round())
    }
}

impl Drop for LockedLine<'_> {
    #[inline]
    fn drop(&mut self) {
        let has_waiters = !self.with_line(|line| line.is_empty());
        self.queue.word.store(self.word.unlocked(has_waiters).0, Release);
    }
}
