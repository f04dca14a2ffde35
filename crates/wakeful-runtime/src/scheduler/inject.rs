//! The injection queue: any thread pushes tasks, a scheduler's workers pop them.
//!
//! It has two parts: a lock-free stack, onto which a producer pushes with one compare-and-swap, and
//! a list in order of arrival, from which consumers pop under a lock. A consumer that finds the
//! list empty takes the whole stack at once and reverses it.
//!
//! ```text
//!   push ──▶ stack: c ▶ b ▶ a          fifo: (empty)
//!   pop  ──▶ stack: (empty)            fifo: a ▶ b ▶ c  ──▶ a
//! ```
//!
//! In a closed queue the stack is replaced by a mark. A push then fails and returns the entry.

use std::ptr;
use wakeful_base::sync::TryMutex;
use wakeful_base::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use wakeful_task::{Header, Runnable, TaskRef};

/// A queue that any thread pushes to and any worker pops from.
pub(crate) struct InjectionQueue {
    stack: AtomicPtr<Header>,
    fifo: TryMutex<FifoList>,
    /// The number of entries in `fifo`, readable without the lock. Not zero while a consumer moves
    /// the stack into the list, so that the entries on the way count too.
    fifo_len: AtomicUsize,
}

/// Entries in order of arrival, linked through `queue_next`.
struct FifoList {
    first: *mut Header,
}

// SAFETY: the list owns queue entries and nothing else. `Runnable`, the owned form of an entry, is
// `Send`.
unsafe impl Send for FifoList {}

/// The error of a push to a closed queue, with the entry.
#[derive(Debug)]
pub(crate) struct Closed(pub(crate) Runnable);

/// Returns the value of `stack` in a closed queue. It is never dereferenced, and no task has
/// address one.
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
    /// The push is a full fence. A caller that looks for a parked worker afterwards sees every
    /// worker that looked at this queue before the push and then parked.
    pub(crate) fn push(&self, runnable: Runnable) -> Result<(), Closed> {
        let task = runnable.into_raw();
        let mut top = self.stack.load(Relaxed);
        loop {
            if top == closed_mark() {
                // SAFETY: `task` is the entry taken apart above. It was not published, so it is
                // used once.
                return Err(Closed(unsafe { Runnable::from_raw(task) }));
            }
            // SAFETY: the entry, which this thread owns until the exchange below publishes it,
            // keeps the task alive.
            unsafe { task.as_ref() }.queue_next().store(top, Relaxed);
            match self.stack.compare_exchange_weak(top, task.as_ptr(), SeqCst, Relaxed) {
                Ok(_) => return Ok(()),
                Err(now) => top = now,
            }
        }
    }

    /// Returns whether there is nothing to pop.
    ///
    /// An entry that was pushed before and is no longer here was taken by a consumer. If that
    /// consumer put the entry into a queue, the caller will see it there after this returns true.
    pub(crate) fn is_empty(&self) -> bool {
        let top = self.stack.load(SeqCst);
        // `stack` is read before `fifo_len`: if this sees a stack that a consumer has emptied, it
        // also sees the length that the consumer stored before, or a later one.
        (top.is_null() || top == closed_mark()) && self.fifo_len.load(Acquire) == 0
    }

    /// Takes up to `limit` entries, oldest first, and passes them to `each`. `limit` is called with
    /// the number of entries in the list.
    ///
    /// Does nothing while another consumer holds the lock: that consumer sees the same entries.
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
            // SAFETY: the list has `len` entries, and `count <= len`.
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

    /// Makes every later push fail, and passes the remaining entries to `each`.
    pub(crate) fn close(&self, mut each: impl FnMut(Runnable)) {
        let mut fifo = self.fifo.lock();
        loop {
            while !fifo.first.is_null() {
                // SAFETY: the list is not empty.
                each(unsafe { fifo.pop() });
            }
            if self.refill(&mut fifo, closed_mark()) == 0 {
                self.fifo_len.store(0, Release);
                return;
            }
        }
    }

    /// Returns the number of entries. Walks over those that no consumer has moved to the list yet.
    pub(crate) fn len(&self) -> usize {
        let _no_pop_meanwhile = self.fifo.lock();
        let mut len = self.fifo_len.load(Relaxed);
        let mut at = self.stack.load(Acquire);
        while !at.is_null() && at != closed_mark() {
            len += 1;
            // SAFETY: an entry keeps its task alive while it is in the stack, and entries leave the
            // stack only under the lock, which this thread holds.
            at = unsafe { (*at).queue_next().load(Relaxed) };
        }
        len
    }

    /// Moves the reversed stack into the empty list, and leaves `replacement` in the stack. Returns
    /// the number of entries moved.
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
            // SAFETY: the swap gave this thread all entries of the stack, and each entry keeps its
            // task alive.
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
    /// Takes the oldest entry.
    ///
    /// # Safety
    /// The list must not be empty.
    unsafe fn pop(&mut self) -> Runnable {
        // SAFETY: the list is not empty, by contract. Its first element is an entry that the list
        // owns and gives up here, so `from_raw` is called once for it.
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
