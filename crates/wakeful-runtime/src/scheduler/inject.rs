//! The injection queue: any thread pushes tasks, a scheduler's workers pop them.
//!
//! It has two parts: a lock-free stack, onto which a producer pushes with one compare-and-swap, and
//! a list in order of arrival, from which consumers pop under a lock. The stack is reversed and
//! appended to the list by a consumer that finds the list empty, and by each producer after every
//! [`TRANSFER_EVERY`] of its pushes.
//!
//! ```text
//!   push      ──▶ stack: d ▶ c          list: a ▶ b
//!   transfer  ──▶ stack: (empty)        list: a ▶ b ▶ c ▶ d
//!   pop       ──▶ stack: (empty)        list: b ▶ c ▶ d      ──▶ a
//! ```
//!
//! If only consumers reversed the stack, one would find 100,000 entries in it after a burst, and
//! hold the lock for as long as it takes to walk them. The producers' transfers keep the stack
//! short: with any number of producers, one push in `TRANSFER_EVERY` empties it. Each entry is
//! moved once, and a producer's last entries are still in its cache. A transfer waits for no lock:
//! if a consumer has it, the producer tries again at its next push.
//!
//! In a closed queue the stack is replaced by a mark. A push then fails and returns the entry.

use std::cell::Cell;
use std::ptr;
use wakeful_base::sync::TryMutex;
use wakeful_base::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*};
use wakeful_task::{Header, Retained, Runnable, TaskRef};

/// After how many pushes a producer moves the stack to the list. Low enough that a consumer holds
/// the lock for about a microsecond if it has to move the rest, high enough that the lock costs a
/// push little.
const TRANSFER_EVERY: u32 = if cfg!(wakeful_loom) { 3 } else { 64 };

wakeful_base::per_thread! {
    /// How many pushes of this thread, to any queue, are left until its next transfer.
    static UNTIL_TRANSFER: Cell<u32> = const { Cell::new(TRANSFER_EVERY) };
}

/// A queue that any thread pushes to and any worker pops from.
pub(crate) struct InjectionQueue {
    stack: AtomicPtr<Header>,
    fifo: TryMutex<FifoList>,
    /// The number of entries in `fifo`, readable without the lock. Not zero while a thread moves
    /// the stack into the list, so that the entries on the way count too.
    fifo_len: AtomicUsize,
}

/// Entries in order of arrival, linked through `queue_next`.
struct FifoList {
    first: *mut Header,
    /// The last entry, unless `first` is null. Its link is null.
    last: *mut Header,
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
            fifo: TryMutex::new(FifoList { first: ptr::null_mut(), last: ptr::null_mut() }),
            fifo_len: AtomicUsize::new(0),
        }
    }

    /// Adds an entry at the end.
    ///
    /// The push is a full fence. A caller that looks for a parked worker afterwards sees every
    /// worker that looked at this queue before the push and then parked. It has to look even if a
    /// consumer has taken the entry: see [`pop_many`](Self::pop_many).
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
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        self.transfer_sometimes();
        Ok(())
    }

    /// Moves the stack to the list if this thread has pushed often since it did so last.
    #[inline]
    fn transfer_sometimes(&self) {
        let left = UNTIL_TRANSFER.with(|left| left.replace(left.get().saturating_sub(1)));
        if left <= 1 {
            self.transfer();
        }
    }

    #[cold]
    fn transfer(&self) {
        let Some(mut fifo) = self.fifo.try_lock() else { return };
        let len = self.fifo_len.load(Relaxed);
        let moved = self.refill(&mut fifo, len, ptr::null_mut());
        self.fifo_len.store(len + moved, Release);
        drop(fifo);
        UNTIL_TRANSFER.with(|left| left.set(TRANSFER_EVERY));
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
    /// Does nothing while another thread holds the lock. If that is a consumer, it sees the same
    /// entries. If it is a producer, it is in the middle of a push, and notifies a consumer after
    /// that.
    pub(crate) fn pop_many(
        &self,
        limit: impl FnOnce(usize) -> usize,
        mut each: impl FnMut(Runnable),
    ) {
        let Some(mut fifo) = self.fifo.try_lock() else { return };
        let mut len = self.fifo_len.load(Relaxed);
        if len == 0 {
            len = self.refill(&mut fifo, 0, ptr::null_mut());
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
            if self.refill(&mut fifo, 0, closed_mark()) == 0 {
                self.fifo_len.store(0, Release);
                return;
            }
        }
    }

    /// Returns the number of entries. Moves those in the stack to the list, so that each entry is
    /// counted once, however often this is called.
    pub(crate) fn len(&self) -> usize {
        let mut fifo = self.fifo.lock();
        let len = self.fifo_len.load(Relaxed);
        let moved = self.refill(&mut fifo, len, ptr::null_mut());
        self.fifo_len.store(len + moved, Release);
        len + moved
    }

    /// Appends references to the tasks of up to `max` entries, oldest first.
    pub(crate) fn retain_some(&self, max: usize, tasks: &mut Vec<Retained>) {
        // Allocated outside the lock: the allocator may be user code.
        let max = max.min(self.len());
        tasks.reserve(max);
        let end = tasks.len() + max;
        let fifo = self.fifo.lock();
        let mut next = fifo.first;
        while tasks.len() < end {
            let Some(task) = TaskRef::new(next) else { break };
            // SAFETY: the entry is in the list, which is locked, and keeps its task alive.
            unsafe {
                next = task.as_ref().queue_next().load(Relaxed);
                tasks.push(Retained::new(task));
            }
        }
    }

    /// Appends the reversed stack to the list, which has `len` entries, and leaves `replacement` in
    /// the stack. Returns the number of entries moved. The caller then sets `fifo_len`.
    fn refill(&self, fifo: &mut FifoList, len: usize, replacement: *mut Header) -> usize {
        let mut top = self.stack.load(Relaxed);
        if top == closed_mark() || (top.is_null() && replacement.is_null()) {
            return 0;
        }
        self.fifo_len.store(len.max(1), Relaxed);
        top = self.stack.swap(replacement, AcqRel);
        let (last, mut first, mut moved) = (top, ptr::null_mut(), 0);
        while !top.is_null() {
            // SAFETY: the swap gave this thread all entries of the stack, and each entry keeps its
            // task alive.
            let link = unsafe { (*top).queue_next() };
            let below = link.load(Relaxed);
            link.store(first, Relaxed);
            first = top;
            top = below;
            moved += 1;
        }
        fifo.append(first, last);
        moved
    }
}

impl FifoList {
    /// Appends linked entries, the `last` of which has a null link. Both are null if there are
    /// none.
    fn append(&mut self, first: *mut Header, last: *mut Header) {
        if first.is_null() {
            return;
        }
        if self.first.is_null() {
            self.first = first;
        } else {
            // SAFETY: the list owns its last entry, which keeps its task alive.
            unsafe { (*self.last).queue_next() }.store(first, Relaxed);
        }
        self.last = last;
    }

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
