//! Wakers collected under a lock, to be called once it is released.
//!
//! A waker runs code we do not know, which may come back and want the same lock. So whoever releases
//! waiters takes their wakers out under the lock, a few at a time, lets the lock go and
//! only then calls them.

use crate::catch_panic::{contain_panic, drop_payload};
use std::any::Any;
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::task::Waker;

/// How many wakers fit; what one hold of a lock may release. In a model two, of which some users take no fewer at
/// once, are enough to see what others do when the lock is let go in between.
const CAPACITY: usize = if cfg!(wakeful_loom) { 2 } else { 32 };

/// How the driver and timers call a waker, on the thread that serves them: at once ([`call_now`]), or when that suits
/// it. Must not panic, since there may be others to call.
pub type CallWaker<'a> = &'a mut dyn FnMut(Waker);

/// Calls `waker`, whose panic is nobody's to see.
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
    /// An empty list.
    #[inline]
    pub fn new() -> Self {
        let slots = [const { MaybeUninit::uninit() }; CAPACITY];
        WakeList { slots, called: 0, len: 0, panic: None }
    }

    /// Whether another waker fits.
    #[inline]
    pub fn can_push(&self) -> bool {
        self.len < CAPACITY
    }

    /// How many are in it.
    pub fn len(&self) -> usize {
        self.len - self.called
    }

    /// Whether none is in it.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.called == self.len
    }

    /// Adds `waker`, for which there must be room.
    #[inline]
    pub fn push(&mut self, waker: Waker) {
        debug_assert!(self.can_push(), "a full list of wakers must be called before it takes more");
        self.slots[self.len].write(waker);
        self.len += 1;
    }

    /// Calls all wakers, in the order they came, and leaves the list empty.
    ///
    /// If one panics, the others are called before the panic goes on. If [`wake_batch`](Self::wake_batch) has kept
    /// a panic, that one goes on.
    #[inline]
    pub fn wake_all(&mut self) {
        if !self.is_empty() {
            self.wake_batch();
        }
        if let Some(payload) = self.panic.take() {
            resume_unwind(payload);
        }
    }

    /// As [`wake_all`](Self::wake_all), for a caller with more wakers to come: keeps the first panic until that is
    /// called.
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

    /// Gives all wakers to `take`, in the order they came, and leaves the list empty.
    ///
    /// Should it panic, the wakers left are called before the panic goes on.
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
        // SAFETY: `called <= at < len`, so the slot is initialised, and now that `called` is past it,
        // nobody will read it again.
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
    /// Calls what is left, which is something only when a waker panicked.
    #[inline]
    fn drop(&mut self) {
        while let Some(waker) = self.next() {
            // A second panic during the first would abort the program.
            contain_panic(|| waker.wake());
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
