//! Where sleepers on other threads leave timers that they want no more.

use super::entry::{LeftEntry, TimerEntry};
use std::ptr::{self, NonNull};
use wakeful_base::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};

/// So many left timers are worth waking their owner for.
const MANY: u32 = 64;

/// A stack of entries that anybody pushes to and the wheel's owner empties.
#[derive(Debug)]
pub struct TimerInbox {
    top: AtomicPtr<TimerEntry>,
    /// Entries that were ever pushed.
    pushes: AtomicU32,
}

impl TimerInbox {
    /// An empty inbox.
    pub fn new() -> TimerInbox {
        TimerInbox { top: AtomicPtr::new(ptr::null_mut()), pushes: AtomicU32::new(0) }
    }

    /// Leaves an entry to the owner. True now and then: a sleeping owner should be woken, so that
    /// memory does not pile up.
    pub fn push(&self, left: LeftEntry) -> bool {
        let entry = left.0;
        let mut top = self.top.load(Relaxed);
        loop {
            // SAFETY: what is on its way to an inbox is the pusher's.
            unsafe { entry.as_ref() }.next.store(top, Relaxed);
            match self.top.compare_exchange_weak(top, entry.as_ptr(), Release, Relaxed) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        self.pushes.fetch_add(1, Relaxed).wrapping_add(1) % MANY == 0
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.top.load(Relaxed).is_null()
    }

    /// Takes all entries out, and calls `f` with each.
    pub(super) fn drain(&self, mut f: impl FnMut(NonNull<TimerEntry>)) {
        let mut at = self.top.swap(ptr::null_mut(), Acquire);
        while let Some(entry) = NonNull::new(at) {
            // SAFETY: what was in the inbox is ours.
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
        // SAFETY: the owner has fired all its timers, so none of these is in a wheel.
        self.drain(|entry| unsafe { TimerEntry::free(entry) });
    }
}
