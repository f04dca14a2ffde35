//! The inbox for timers that sleepers on other threads have left.

use super::entry::{LeftEntry, TimerEntry};
use std::ptr::{self, NonNull};
use wakeful_base::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// The number of pushes after which the owner is woken. Bounds the memory that waits to be freed.
const MANY: u32 = 64;

/// A stack of entries that any thread pushes to and that the wheel's owner empties.
#[derive(Debug)]
pub struct TimerInbox {
    top: AtomicPtr<TimerEntry>,
    /// The number of entries ever pushed.
    pushes: AtomicU32,
}

impl TimerInbox {
    /// Creates an empty inbox.
    pub fn new() -> TimerInbox {
        TimerInbox { top: AtomicPtr::new(ptr::null_mut()), pushes: AtomicU32::new(0) }
    }

    /// Leaves an entry to the owner.
    ///
    /// Returns true for every 64th entry: the owner should then be woken if it sleeps, so that
    /// memory does not pile up.
    pub fn push(&self, left: LeftEntry) -> bool {
        let entry = left.0;
        let mut top = self.top.load(Relaxed);
        loop {
            // SAFETY: until the exchange below succeeds, only this thread has the entry.
            unsafe { entry.as_ref() }.next.store(top, Relaxed);
            match self.top.compare_exchange_weak(top, entry.as_ptr(), Release, Relaxed) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        self.pushes.fetch_add(1, Relaxed).wrapping_add(1) % MANY == 0
    }

    /// Returns whether the inbox is empty.
    pub fn is_empty(&self) -> bool {
        self.top.load(Relaxed).is_null()
    }

    /// Takes all entries out, and calls `f` with each.
    pub(super) fn drain(&self, mut f: impl FnMut(NonNull<TimerEntry>)) {
        let mut at = self.top.swap(ptr::null_mut(), Acquire);
        while let Some(entry) = NonNull::new(at) {
            // SAFETY: entries that were in the inbox belong to the owner, the caller.
            at = unsafe { entry.as_ref() }.next.load(Relaxed);
            f(entry);
        }
    }
}

impl Default for TimerInbox {
    fn default() -> Self {
        TimerInbox::new()
    }
}

impl Drop for TimerInbox {
    fn drop(&mut self) {
        // SAFETY: before the owner drops its inbox it fires all its timers, so no entry is in a
        // wheel any more. The sleepers have taken the wakers.
        self.drain(|entry| unsafe { TimerEntry::free(entry) });
    }
}
