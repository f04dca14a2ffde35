//! The queue that any thread may put tasks into, and a scheduler's workers take them from.
//!
//! Two parts: a lock-free stack that producers push onto with one compare-and-swap, and a list in
//! order of arrival that consumers pop from under a lock. When the list runs dry, a consumer takes the
//! whole stack at once and turns it round.
//!
//! ```text
//!   push ──▶ stack: c ▶ b ▶ a          taken: (empty)
//!   pop  ──▶ stack: (empty)            taken: a ▶ b ▶ c  ──▶ a
//! ```
//!
//! A closed queue has a mark in place of the stack: a push then fails and gives the entry back.

use std::ptr;
use wakeful_base::sync::TryMutex;
use wakeful_base::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use wakeful_task::{Header, Runnable, TaskRef};

pub(crate) struct InjectionQueue {
    stack: AtomicPtr<Header>,
    fifo: TryMutex<FifoList>,
    /// How many entries `taken` has, to be read without the lock. Not zero while a consumer moves the
    /// stack there: what is on the way counts as well.
    fifo_len: AtomicUsize,
}

/// Entries in order of arrival, linked through `queue_next`.
struct FifoList {
    first: *mut Header,
}

// SAFETY: the pointers are queue entries, which may move between threads as `Runnable`s may.
unsafe impl Send for FifoList {}

/// The queue is closed; the entry is the caller's again.
#[derive(Debug)]
pub(crate) struct Closed(pub(crate) Runnable);

/// Stands in `stack` for a closed queue. Never dereferenced; no task lies at address one.
fn closed_mark() -> *mut Header {
    ptr::without_provenance_mut(1)
}

impl InjectionQueue {
    pub(crate) fn new() -> InjectionQueue {
        InjectionQueue {
            stack: AtomicPtr::new(ptr::null_mut()),
            fifo: TryMutex::new(FifoList { first: ptr::null_mut() }),
            fifo_len: AtomicUsize::new(0),
        }
    }

    /// Adds an entry at the end.
    ///
    /// A full fence lies between the push and whatever the caller does next, so that looking for a
    /// sleeping worker after it cannot miss one that looked here before.
    pub(crate) fn push(&self, runnable: Runnable) -> Result<(), Closed> {
        let task = runnable.into_raw();
        let mut top = self.stack.load(Relaxed);
        loop {
            if top == closed_mark() {
                // SAFETY: the entry taken apart above.
                return Err(Closed(unsafe { Runnable::from_raw(task) }));
            }
            // SAFETY: the entry is ours until the exchange below publishes it.
            unsafe { task.as_ref() }.queue_next().store(top, Relaxed);
            match self.stack.compare_exchange_weak(top, task.as_ptr(), SeqCst, Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => top = now,
            }
        }
    }

    /// Whether there is nothing to pop.
    ///
    /// What was pushed before and is not here any more has been taken by a consumer, who has put it
    /// where it goes: if that is a queue, it is seen there after this.
    pub(crate) fn is_empty(&self) -> bool {
        let top = self.stack.load(SeqCst);
        // In this order: if a consumer emptied the stack, its note of that is seen, or what came after.
        (top.is_null() || top == closed_mark()) && self.fifo_len.load(Acquire) == 0
    }

    /// Takes up to `limit` entries, oldest first, and gives them to `each`. `limit` is asked for with
    /// the number of entries known to be there.
    ///
    /// Does nothing if another consumer is at it: that one sees what we would have seen.
    pub(crate) fn pop_many(
        &self,
        limit: impl FnOnce(usize) -> usize,
        mut each: impl FnMut(Runnable),
    ) {
        let Some(mut fifo) = self.fifo.try_lock() else { return };
        let mut len = self.fifo_len.load(Relaxed);
        if len == 0 {
            len = self.refill(&mut fifo, ptr::null_mut());
        }
        let count = limit(len).min(len);
        for _ in 0..count {
            // SAFETY: `taken` has `len` entries.
            each(unsafe { fifo.pop() });
        }
        self.fifo_len.store(len - count, Release);
    }

    /// Takes the oldest entry.
    pub(crate) fn pop(&self) -> Option<Runnable> {
        let mut popped = None;
        self.pop_many(|_| 1, |runnable| popped = Some(runnable));
        popped
    }

    /// Lets every later push fail, and gives the entries that are left to `each`.
    pub(crate) fn close(&self, mut each: impl FnMut(Runnable)) {
        let mut fifo = self.fifo.lock();
        loop {
            while !fifo.first.is_null() {
                // SAFETY: not empty.
                each(unsafe { fifo.pop() });
            }
            if self.refill(&mut fifo, closed_mark()) == 0 {
                self.fifo_len.store(0, Release);
                return;
            }
        }
    }

    /// How many entries there are. Walks those that no consumer has looked at yet.
    pub(crate) fn len(&self) -> usize {
        let _no_pop_meanwhile = self.fifo.lock();
        let mut len = self.fifo_len.load(Relaxed);
        let mut at = self.stack.load(Acquire);
        while !at.is_null() && at != closed_mark() {
            len += 1;
            // SAFETY: entries leave the stack only under the lock that we hold.
            at = unsafe { (*at).queue_next().load(Relaxed) };
        }
        len
    }

    /// Moves the stack, turned round, into the empty list; leaves `instead` in its place.
    fn refill(&self, fifo: &mut FifoList, replacement: *mut Header) -> usize {
        debug_assert!(fifo.first.is_null(), "only an empty list is refilled");
        let mut top = self.stack.load(Relaxed);
        if top == closed_mark() || (top.is_null() && replacement.is_null()) {
            return 0;
        }
        self.fifo_len.store(1, Relaxed);
        top = self.stack.swap(replacement, AcqRel);
        let mut len = 0;
        while !top.is_null() {
            // SAFETY: the swap made these entries ours alone.
            let link = unsafe { (*top).queue_next() };
            let below = link.load(Relaxed);
            link.store(fifo.first, Relaxed);
            fifo.first = top;
            top = below;
            len += 1;
        }
        len
    }
}

impl FifoList {
    /// # Safety
    /// The list must not be empty.
    unsafe fn pop(&mut self) -> Runnable {
        // SAFETY: not empty by contract; what is in the list is a queue entry of ours.
        unsafe {
            let task = TaskRef::new_unchecked(self.first);
            self.first = task.as_ref().queue_next().load(Relaxed);
            Runnable::from_raw(task)
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "inject/tests/loom.rs"]
mod loom;
