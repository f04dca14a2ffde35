//! Wakers collected under a lock, to be called after the lock is released.
//!
//! A waker runs unknown code, which may want the same lock. So code that releases waiters moves
//! their wakers out under the lock, a few at a time, unlocks, and only then calls them.

use crate::catch_panic::{contain_panic, drop_payload};
use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// The number of wakers that fit, and so the number of waiters that one critical section releases.
/// A loom model has room for two: the smallest number that all users can work with, and enough to
/// explore what other threads do when the lock is released in between.
const CAPACITY: usize = if cfg!(wakeful_loom) { 2 } else { 32 };

/// How the driver and the timers call a waker: at once ([`call_now`]), or later.
///
/// Called on the thread that serves the driver or the timers. The function must not panic, since
/// other wakers may remain to be called.
pub type CallWaker<'a> = &'a mut dyn FnMut(Waker);

/// Calls `waker` and discards its panic.
pub fn call_now(waker: Waker) {
    contain_panic(|| waker.wake());
}

/// A few wakers on the stack.
pub struct WakeList {
    // Initialised from `called` to `len`.
    slots: [MaybeUninit<Waker>; CAPACITY],
    called: usize,
    len: usize,
    /// The payload of the first waker that panicked in [`wake_batch`](Self::wake_batch).
    panic: Option<Box<dyn Any + Send>>,
}

impl WakeList {
    /// The number of wakers that fit.
    pub const CAPACITY: usize = CAPACITY;

    /// Creates an empty list.
    #[inline]
    pub fn new() -> Self {
        let slots = [const { MaybeUninit::uninit() }; CAPACITY];
        WakeList { slots, called: 0, len: 0, panic: None }
    }

    /// Returns whether another waker fits.
    #[inline]
    pub fn can_push(&self) -> bool {
        self.len < CAPACITY
    }

    /// Returns the number of wakers in the list.
    pub fn len(&self) -> usize {
        self.len - self.called
    }

    /// Returns whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.called == self.len
    }

    /// Adds `waker`.
    ///
    /// # Panics
    /// Panics if the list is full.
    #[inline]
    pub fn push(&mut self, waker: Waker) {
        debug_assert!(self.can_push(), "a full list of wakers must be called before it takes more");
        self.slots[self.len].write(waker);
        self.len += 1;
    }

    /// Calls all wakers in the order they were added, and empties the list.
    ///
    /// If a waker panics, the others are called before the panic is resumed. A panic that
    /// [`wake_batch`](Self::wake_batch) has stored is resumed as well, in preference to a new one.
    #[inline]
    pub fn wake_all(&mut self) {
        if !self.is_empty() {
            self.wake_batch();
        }
        if let Some(payload) = self.panic.take() {
            resume_unwind(payload);
        }
    }

    /// Calls all wakers like [`wake_all`](Self::wake_all), but stores the first panic.
    ///
    /// For a caller with more wakers to come. `wake_all` resumes the panic.
    pub fn wake_batch(&mut self) {
        while !self.is_empty() {
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| self.take_all(Waker::wake))) {
                self.keep(payload);
            }
        }
        (self.called, self.len) = (0, 0);
    }

    #[cold]
    fn keep(&mut self, payload: Box<dyn Any + Send>) {
        if self.panic.is_none() {
            self.panic = Some(payload);
        } else {
            drop_payload(payload);
        }
    }

    /// Passes all wakers to `take` in the order they were added, and empties the list.
    ///
    /// If `take` panics, the remaining wakers stay in the list. Dropping the list calls them.
    #[inline]
    pub fn take_all(&mut self, mut take: impl FnMut(Waker)) {
        while let Some(waker) = self.next() {
            take(waker);
        }
        (self.called, self.len) = (0, 0);
    }

    fn next(&mut self) -> Option<Waker> {
        let at = self.called;
        if at == self.len {
            return None;
        }
        self.called += 1;
        // SAFETY: `called <= at < len`, so the slot is initialised. `called` is past it now, so the
        // waker is not read again.
        Some(unsafe { self.slots[at].assume_init_read() })
    }
}

impl Default for WakeList {
    fn default() -> Self {
        WakeList::new()
    }
}

impl std::fmt::Debug for WakeList {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WakeList").field("len", &(self.len - self.called)).finish()
    }
}

impl Drop for WakeList {
    /// Calls the remaining wakers. There are some only after a panic.
    #[inline]
    fn drop(&mut self) {
        while let Some(waker) = self.next() {
            // Contained, because a second panic during unwinding would abort the process.
            contain_panic(|| waker.wake());
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
