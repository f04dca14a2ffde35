//! A worker's run queue: its owner pushes and pops, thieves take from the front.
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
//! - Whoever takes entries first copies them and then moves `head` past them by compare-and-swap. If
//!   that fails somebody else took them, and the copies are worth nothing. If it succeeds they were
//!   still there, for the owner writes to a slot again only once `head` has passed it; its acquiring
//!   load of `head` and the releasing exchange keep that write behind the copy.
//! - The owner takes several entries at a time, so that it pays for a compare-and-swap only every so
//!   many tasks. What it took is out of thieves' reach until it runs or goes back.
//! - A full ring is replaced by one of twice the size. Thieves may still read the old one, which is
//!   kept until the queue goes: together the old ones are no larger than the one in use.

use std::mem::replace;
use std::ptr::{self, NonNull};
use wakeful_base::CachePadded;
use wakeful_base::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use wakeful_task::{Header, Runnable, TaskRef};

/// Slots of a new queue. Small under loom, so that its models reach the end of the ring.
const CAPACITY_MIN: usize = if cfg!(wakeful_loom) { 2 } else { 256 };

/// How many entries a thief takes at most.
pub(crate) const STEAL_MAX: usize = if cfg!(wakeful_loom) { 2 } else { 128 };

/// How many entries the owner takes at most for one compare-and-swap.
const OWNER_BATCH_MAX: usize = if cfg!(wakeful_loom) { 2 } else { 8 };

/// The side of a queue that everybody sees.
pub(crate) struct RunQueue {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    ring: AtomicPtr<Ring>,
}

/// The owner's side: what it took and did not run yet, and what it need not look up.
pub(crate) struct QueueOwner {
    /// Entries out of thieves' reach, last to run first.
    batch: [Option<TaskRef>; OWNER_BATCH_MAX],
    batch_len: usize,
    batch_max: usize,
    /// `head` as last seen; the true one may only be further on.
    head_seen: u64,
    ring: NonNull<Ring>,
    /// Rings that were too small, which thieves may still read.
    old_rings: Vec<NonNull<Ring>>,
}

// SAFETY: the pointers are queue entries, which may move between threads as `Runnable`s may, and
// rings, which are all atomics.
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
        // SAFETY: the length is a power of two, so the index is below it.
        unsafe { self.slots.get_unchecked(at as usize & (self.slots.len() - 1)) }
    }
}

/// A queue and its owner's side.
///
/// The owner's side is to be used with this queue only, by one thread at a time, and not after the
/// queue is gone.
pub(crate) fn run_queue() -> (RunQueue, QueueOwner) {
    let ring = Ring::new(CAPACITY_MIN);
    let queue = RunQueue {
        head: CachePadded::new(AtomicU64::new(0)),
        tail: CachePadded::new(AtomicU64::new(0)),
        ring: AtomicPtr::new(ring.as_ptr()),
    };
    let owner = QueueOwner {
        batch: [None; OWNER_BATCH_MAX],
        batch_len: 0,
        batch_max: OWNER_BATCH_MAX,
        head_seen: 0,
        ring,
        old_rings: Vec::new(),
    };
    (queue, owner)
}

impl RunQueue {
    /// How many entries thieves can reach; may be out of date as soon as it is known.
    pub(crate) fn len(&self) -> usize {
        let head = self.head.load(Acquire);
        self.tail.load(Acquire).saturating_sub(head) as usize
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Moves half of the entries, but no more than [`STEAL_MAX`], into the thief's own queue.
    ///
    /// Returns one of them to be run at once, and how many there were in all.
    pub(crate) fn steal_into(
        &self,
        own: &RunQueue,
        owner: &mut QueueOwner,
    ) -> Option<(Runnable, usize)> {
        loop {
            let head = self.head.load(Acquire);
            let len = self.tail.load(Acquire).saturating_sub(head);
            let count = (len - len / 2).min(STEAL_MAX as u64);
            if count == 0 {
                return None;
            }
            // After `tail`: who sees a tail sees the ring that it was written for.
            let ring = self.ring.load(Acquire);
            // SAFETY: a queue keeps all its rings as long as it lives.
            let ring = unsafe { &*ring };
            owner.make_room(own, count as usize);
            let (to, at) = (owner.ring(), own.tail.load(Relaxed));
            for i in 0..count {
                // Beyond our own tail nobody looks.
                to.slot(at + i).store(ring.slot(head + i).load(Relaxed), Relaxed);
            }
            if self.head.compare_exchange(head, head + count, AcqRel, Relaxed).is_err() {
                continue;
            }
            let first = to.slot(at + count - 1).load(Relaxed);
            own.tail.store(at + count - 1, Release);
            // SAFETY: the exchange made these entries ours; the last of them did not stay in our queue.
            return Some((unsafe { runnable(first) }, count as usize));
        }
    }
}

impl QueueOwner {
    fn ring(&self) -> &Ring {
        // SAFETY: rings are freed when the owner's side is dropped.
        unsafe { self.ring.as_ref() }
    }

    /// Leaves everything in thieves' reach but the entry that is popped.
    pub(crate) fn hold_nothing_back(&mut self) {
        self.batch_max = 1;
    }

    /// Puts an entry at the end.
    #[inline]
    pub(crate) fn push(&mut self, queue: &RunQueue, runnable: Runnable) {
        let tail = queue.tail.load(Relaxed);
        if tail - self.head_seen >= self.ring().slots.len() as u64 {
            self.make_room(queue, 1);
        }
        self.ring().slot(tail).store(runnable.into_raw().as_ptr(), Relaxed);
        queue.tail.store(tail + 1, Release);
    }

    /// Puts many entries at the end.
    pub(crate) fn push_all(&mut self, queue: &RunQueue, runnables: &mut Vec<Runnable>) {
        self.make_room(queue, runnables.len());
        let mut tail = queue.tail.load(Relaxed);
        for runnable in runnables.drain(..) {
            self.ring().slot(tail).store(runnable.into_raw().as_ptr(), Relaxed);
            tail += 1;
        }
        queue.tail.store(tail, Release);
    }

    /// Takes the entry at the front.
    #[inline]
    pub(crate) fn pop(&mut self, queue: &RunQueue) -> Option<Runnable> {
        if self.batch_len == 0 {
            self.take_batch(queue);
        }
        self.batch_len = self.batch_len.checked_sub(1)?;
        let task = self.batch[self.batch_len].take().expect("a batch has `batch_len` entries");
        // SAFETY: it came from an entry and leaves once.
        Some(unsafe { Runnable::from_raw(task) })
    }

    /// How many entries only the owner can reach.
    pub(crate) fn held_back(&self) -> usize {
        self.batch_len
    }

    /// Puts what was taken for the owner back in thieves' reach.
    pub(crate) fn share_batch(&mut self, queue: &RunQueue) {
        while self.batch_len > 0 {
            self.batch_len -= 1;
            let task = self.batch[self.batch_len].take().expect("a batch has `batch_len` entries");
            // SAFETY: as in `pop`.
            self.push(queue, unsafe { Runnable::from_raw(task) });
        }
    }

    /// Takes up to half of the queue, but no more than fits, for the owner alone.
    #[inline(never)]
    fn take_batch(&mut self, queue: &RunQueue) {
        let tail = queue.tail.load(Relaxed);
        loop {
            let head = queue.head.load(Acquire);
            self.head_seen = head;
            let len = tail - head;
            let count = (len - len / 2).min(self.batch_max as u64);
            if count == 0 {
                return;
            }
            if queue.head.compare_exchange(head, head + count, AcqRel, Relaxed).is_err() {
                continue;
            }
            // Nobody but us writes to the slots, so they can be read after the exchange as well.
            for i in 0..count {
                let task = self.ring().slot(head + i).load(Relaxed);
                self.batch[(count - 1 - i) as usize] = TaskRef::new(task);
            }
            self.batch_len = count as usize;
            return;
        }
    }

    /// Sees to it that `count` more entries fit.
    fn make_room(&mut self, queue: &RunQueue, count: usize) {
        let tail = queue.tail.load(Relaxed);
        self.head_seen = queue.head.load(Acquire);
        let needed = (tail - self.head_seen) as usize + count;
        let old = self.ring();
        if needed <= old.slots.len() {
            return;
        }
        let new = Ring::new(needed.next_power_of_two().max(2 * old.slots.len()));
        for at in self.head_seen..tail {
            // SAFETY: just made.
            unsafe { new.as_ref() }.slot(at).store(old.slot(at).load(Relaxed), Relaxed);
        }
        // Before any tail that is beyond the old ring.
        queue.ring.store(new.as_ptr(), Release);
        self.old_rings.push(replace(&mut self.ring, new));
    }
}

impl Drop for QueueOwner {
    fn drop(&mut self) {
        for ring in self.old_rings.drain(..).chain([self.ring]) {
            // SAFETY: made by `Ring::new`; nobody uses a queue after its owner's side is gone.
            drop(unsafe { Box::from_raw(ring.as_ptr()) });
        }
    }
}

/// # Safety
/// `task` must be an entry read from a slot and owned by the caller.
unsafe fn runnable(task: *mut Header) -> Runnable {
    // SAFETY: slots between head and tail hold entries, never null.
    unsafe { Runnable::from_raw(TaskRef::new_unchecked(task)) }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "queue/tests/loom.rs"]
mod loom;
