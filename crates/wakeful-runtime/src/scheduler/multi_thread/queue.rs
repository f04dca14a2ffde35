//! A worker's run queue: its owner pushes and pops, other workers steal from the front.
//!
//! A ring of entries between `head` and `tail`, both of which only grow:
//!
//! ```text
//!            head                 tail
//!              ▼                    ▼
//!   ─ ─ ─ ┬────┬────┬────┬────┬────┬ ─ ─ ─
//!         │    │ a  │ b  │ c  │ d  │
//!   ─ ─ ─ ┴────┴────┴────┴────┴────┴ ─ ─ ─
//!   taken by thieves and owner ▲    ▲ put by the owner
//! ```
//!
//! - Only the owner writes `tail` and the slots, so a push costs two plain stores.
//! - A thread that takes entries copies them first, and then moves `head` past them by
//!   compare-and-swap. If that fails, another thread has taken entries, and the copies are
//!   discarded. If it succeeds, the copies are valid: the owner writes to a slot again only once
//!   `head` has passed it. The owner's acquiring load of `head` and the releasing exchange order
//!   that write after the copy.
//! - A full ring is replaced by one of twice the size. Thieves may still read the old one, so it is
//!   kept as long as the queue. Together the old rings are no larger than the current one.

use std::mem::replace;
use std::ptr::{self, NonNull};
use wakeful_base::CachePadded;
use wakeful_base::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use wakeful_task::{Header, Runnable, TaskRef};

/// The number of slots of a new queue. Small under loom, so that its models reach the end of the
/// ring.
const CAPACITY_MIN: usize = if cfg!(wakeful_loom) { 2 } else { 256 };

/// How many entries a thief takes, at most. It bounds how much a thief copies before its
/// compare-and-swap, which may fail.
pub(crate) const STEAL_MAX: usize = if cfg!(wakeful_loom) { 2 } else { 128 };

/// The side of a queue that all workers share.
pub(crate) struct RunQueue(CachePadded<Ends>);

/// What a thief needs, in one cache line.
struct Ends {
    head: AtomicU64,
    tail: AtomicU64,
    ring: AtomicPtr<Ring>,
}

/// The owner's side of a queue: its copies of shared fields.
pub(crate) struct QueueOwner {
    /// The value of `head` when it was last read. The current one may be larger.
    head_seen: u64,
    ring: NonNull<Ring>,
    /// Rings that were too small. Thieves may still read them.
    old_rings: Vec<NonNull<Ring>>,
}

// SAFETY: the rings hold queue entries, whose owned form `Runnable` is `Send`, in atomics.
unsafe impl Send for QueueOwner {}

struct Ring {
    slots: Box<[AtomicPtr<Header>]>,
}

impl Ring {
    fn new(capacity: usize) -> NonNull<Ring> {
        assert!(capacity.is_power_of_two());
        let slots = (0..capacity).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        NonNull::from(Box::leak(Box::new(Ring { slots })))
    }

    fn slot(&self, at: u64) -> &AtomicPtr<Header> {
        // SAFETY: the length is a power of two, so the masked index is less than the length.
        unsafe { self.slots.get_unchecked(at as usize & (self.slots.len() - 1)) }
    }
}

/// Creates a queue and its owner's side.
///
/// The owner's side must be used only with this queue, by one thread at a time. The queue must not
/// be used after the owner's side is dropped, which frees the rings.
pub(crate) fn run_queue() -> (RunQueue, QueueOwner) {
    let ring = Ring::new(CAPACITY_MIN);
    let queue = RunQueue(CachePadded::new(Ends {
        head: AtomicU64::new(0),
        tail: AtomicU64::new(0),
        ring: AtomicPtr::new(ring.as_ptr()),
    }));
    let owner = QueueOwner { head_seen: 0, ring, old_rings: Vec::new() };
    (queue, owner)
}

impl RunQueue {
    /// Returns how many entries thieves can reach. The value may be out of date at once.
    pub(crate) fn len(&self) -> usize {
        let head = self.0.head.load(Acquire);
        self.0.tail.load(SeqCst).saturating_sub(head) as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes the entries before `tail` visible to thieves. For the owner only.
    ///
    /// A full fence: if the owner then sees its bit in [`Idle`](super::idle::Idle) set, a thread
    /// that clears the bit later sees the entries.
    #[inline]
    fn publish(&self, tail: u64) {
        self.0.tail.swap(tail, SeqCst);
    }

    /// Moves half of the entries, but at most [`STEAL_MAX`], into the thief's own queue.
    ///
    /// Returns one of them, to be run at once, and how many there were in all.
    pub(crate) fn steal_into(
        &self,
        own: &RunQueue,
        owner: &mut QueueOwner,
    ) -> Option<(Runnable, usize)> {
        loop {
            let head = self.0.head.load(Acquire);
            let len = self.0.tail.load(Acquire).saturating_sub(head);
            let count = (len - len / 2).min(STEAL_MAX as u64);
            if count == 0 {
                return None;
            }
            // After `tail`: the owner stores a larger ring before the first tail that needs it, so
            // a thread that sees such a tail also sees that ring.
            let ring = self.0.ring.load(Acquire);
            // SAFETY: the owner's side keeps all rings of a queue until it is dropped, and the
            // queue is not used after that.
            let ring = unsafe { &*ring };
            owner.make_room(own, count as usize);
            let (to, at) = (owner.ring(), own.0.tail.load(Relaxed));
            for i in 0..count {
                // These slots are beyond this queue's tail, where no other thread reads.
                to.slot(at + i).store(ring.slot(head + i).load(Relaxed), Relaxed);
            }
            if self.0.head.compare_exchange(head, head + count, AcqRel, Relaxed).is_err() {
                continue;
            }
            let first = to.slot(at + count - 1).load(Relaxed);
            if count > 1 {
                own.publish(at + count - 1);
            }
            // SAFETY: the exchange gave these entries to this thread. The last one lies beyond the
            // tail that was stored, so only the caller gets it.
            return Some((unsafe { runnable(first) }, count as usize));
        }
    }
}

impl QueueOwner {
    fn ring(&self) -> &Ring {
        // SAFETY: the current ring is freed only when the owner's side is dropped.
        unsafe { self.ring.as_ref() }
    }

    /// Puts an entry at the end.
    #[inline]
    pub(crate) fn push(&mut self, queue: &RunQueue, runnable: Runnable) {
        let tail = queue.0.tail.load(Relaxed);
        if tail - self.head_seen >= self.ring().slots.len() as u64 {
            self.make_room(queue, 1);
        }
        self.ring().slot(tail).store(runnable.into_raw().as_ptr(), Relaxed);
        queue.publish(tail + 1);
    }

    /// Puts all of `runnables` at the end.
    pub(crate) fn push_all(&mut self, queue: &RunQueue, runnables: &mut Vec<Runnable>) {
        self.make_room(queue, runnables.len());
        let mut tail = queue.0.tail.load(Relaxed);
        for runnable in runnables.drain(..) {
            self.ring().slot(tail).store(runnable.into_raw().as_ptr(), Relaxed);
            tail += 1;
        }
        queue.publish(tail);
    }

    /// Takes the entry at the front.
    #[inline]
    pub(crate) fn pop(&mut self, queue: &RunQueue) -> Option<Runnable> {
        let tail = queue.0.tail.load(Relaxed);
        let mut head = queue.0.head.load(Acquire);
        loop {
            self.head_seen = head;
            if head == tail {
                return None;
            }
            match queue.0.head.compare_exchange_weak(head, head + 1, AcqRel, Acquire) {
                Ok(_) => break,
                Err(now) => head = now,
            }
        }
        // Only this thread writes to the slots, so the entry can be read after the exchange too.
        // SAFETY: the exchange gave this entry to this thread.
        Some(unsafe { runnable(self.ring().slot(head).load(Relaxed)) })
    }

    /// Makes room for `count` more entries.
    fn make_room(&mut self, queue: &RunQueue, count: usize) {
        let tail = queue.0.tail.load(Relaxed);
        self.head_seen = queue.0.head.load(Acquire);
        let needed = (tail - self.head_seen) as usize + count;
        let old = self.ring();
        if needed <= old.slots.len() {
            return;
        }
        let new = Ring::new(needed.next_power_of_two().max(2 * old.slots.len()));
        for at in self.head_seen..tail {
            // SAFETY: the ring was just made.
            unsafe { new.as_ref() }.slot(at).store(old.slot(at).load(Relaxed), Relaxed);
        }
        // Stored before any tail that is beyond the old ring.
        queue.0.ring.store(new.as_ptr(), Release);
        self.old_rings.push(replace(&mut self.ring, new));
    }
}

impl Drop for QueueOwner {
    fn drop(&mut self) {
        for ring in self.old_rings.drain(..).chain([self.ring]) {
            // SAFETY: `Ring::new` made it from a box, and each ring is in one place only. No thread
            // uses a queue after its owner's side is dropped.
            drop(unsafe { Box::from_raw(ring.as_ptr()) });
        }
    }
}

/// Makes the owned form of an entry read from a slot.
///
/// # Safety
/// `task` must be an entry read from a slot and owned by the caller.
unsafe fn runnable(task: *mut Header) -> Runnable {
    // SAFETY: slots between head and tail hold entries, which are never null.
    unsafe { Runnable::from_raw(TaskRef::new_unchecked(task)) }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "queue/tests/loom.rs"]
mod loom;
