//! The semaphore under [`Semaphore`](crate::Semaphore), [`Mutex`](crate::Mutex) and
//! [`RwLock`](crate::RwLock). Several permits can be taken at a time.
//!
//! One atomic word counts the permits (`state.rs`); waiters are in a [`PermitQueue`] under a lock:
//!
//! ```text
//!   take, permits ≥ n:     permits - n                one compare-and-swap, no lock
//!   put,  no waiters:      permits + n                one compare-and-swap, no lock
//!   take, permits < n:     lock, take the permits there are, queue for the rest
//!   put,  waiters queued:  lock, assign to waiters in order; once the queue is empty, put the rest
//! ```
//!
//! Invariants:
//! - A thread that has lost several compare-and-swaps in a row takes the lock for its next ones, so
//!   that contending threads retry one at a time.
//! - Seen under the lock, `WAITERS` is set in the word exactly while the queue is not empty. The
//!   word has no permits then, since all went to the first waiter. So no later request overtakes a
//!   waiter.
//! - The lock is never held while a waker is called, cloned or dropped.

mod state;

use std::fmt;
use std::ptr::NonNull;
use std::task::Waker;

use wakeful_base::sync::{Mutex, MutexGuard};

use crate::acquire::{Acquire, Enqueued, PermitSource};
use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::holder::{Claimant, HolderWord, NotTracked, TrackHolder};
use crate::permit_queue::{PermitQueue, Waiter};
use state::{PermitWord, Put, Take};
use wakeful_base::WakeList;
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::waiting::{LeafDetails, WaitKind, address, holdings, note_with};

/// The greatest number of permits a semaphore can have.
///
/// The same limit as Tokio's. The word, which also has two flags, could count twice as many.
pub(crate) const MAX_PERMITS: usize = usize::MAX >> 3;

/// The limit on the waiters that are counted for a debugger.
pub(crate) const COUNTED_WAITERS_MAX: usize = 1000;

/// A counter of permits, with a queue for tasks that wait for more than there are.
///
/// `H` is a [`HolderWord`] if the semaphore is a lock, whose holder has all permits, and says
/// whether its permits are recorded in a process that is watched.
pub(crate) struct BatchSemaphore<H: TrackHolder = NotTracked> {
    word: PermitWord,
    queue: Mutex<PermitQueue>,
    holder: H,
}

impl<H: TrackHolder> BatchSemaphore<H> {
    #[track_caller]
    pub(crate) fn new(permits: usize, holder: H) -> Self {
        check_request(permits);
        let (word, queue) = (PermitWord::new(permits), Mutex::new(PermitQueue::new()));
        BatchSemaphore { word, queue, holder }
    }

    #[cfg(not(wakeful_loom))]
    pub(crate) const fn const_new(permits: usize, holder: H) -> Self {
        assert!(permits <= MAX_PERMITS, "a semaphore may not have more than MAX_PERMITS permits");
        let (word, queue) = (PermitWord::new(permits), Mutex::new(PermitQueue::new()));
        BatchSemaphore { word, queue, holder }
    }

    /// Returns the word that names the holder of all permits.
    #[inline]
    pub(crate) fn holder(&self) -> &H {
        &self.holder
    }

    #[inline]
    pub(crate) fn available_permits(&self) -> usize {
        self.word.permits()
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.word.is_closed()
    }

    /// Removes up to `n` of the available permits for good and returns how many it removed.
    pub(crate) fn forget_permits(&self, n: usize) -> usize {
        self.word.forget(n)
    }

    #[inline]
    #[track_caller]
    pub(crate) fn try_acquire(&self, n: usize) -> Result<(), TryAcquireError> {
        check_request(n);
        self.word.take(n, || self.queue.lock())
    }

    #[inline]
    #[track_caller]
    pub(crate) fn acquire<const KIND: u8>(&self, n: usize) -> Acquire<'_, Self, KIND> {
        check_request(n);
        Acquire::new(self, n)
    }

    /// Adds `n` permits. Waiters get them first, in their order; the rest becomes available.
    // Not inlined: one copy, with `put` in it, is faster than callers with a call of `put` each.
    #[inline(never)]
    pub(crate) fn release(&self, n: usize) {
        if n == 0 {
            return;
        }
        match self.word.put(n, || self.queue.lock()) {
            Put::Done => {}
            Put::MustAssign => self.release_to_waiters(n),
        }
    }

    /// Gives `permits` to waiters. Usually the first one needs exactly that many.
    fn release_to_waiters(&self, permits: usize) {
        let mut queue = self.queue.lock();
        let granted = |claimant| self.holder.grant(claimant);
        let Some(waker) = queue.assign_to_one(permits, granted) else {
            return self.assign_to_queue(queue, permits);
        };
        if queue.is_empty() {
            self.word.clear_waiters(0);
        }
        drop(queue);
        waker.wake();
    }

    /// Closes the semaphore and wakes all waiters. No permit is given out any more.
    pub(crate) fn close(&self) {
        let mut wakers = WakeList::new();
        let mut queue = self.queue.lock();
        self.word.close();
        while !queue.is_empty() {
            queue.remove_all(&mut wakers);
            if queue.is_empty() {
                self.word.clear_waiters(0);
            }
            drop(queue);
            wakers.wake_batch();
            queue = self.queue.lock();
        }
        drop(queue);
        wakers.wake_all();
    }

    /// Assigns `permits` to the waiters. The queue may have become empty since the caller looked.
    #[cold]
    fn assign_to_queue<'a>(&'a self, mut queue: MutexGuard<'a, PermitQueue>, mut permits: usize) {
        let mut wakers = WakeList::new();
        loop {
            permits = queue.assign(permits, &mut wakers, |claimant| self.holder.grant(claimant));
            let ended = permits == 0 || queue.is_empty();
            if ended && queue.is_empty() {
                if self.word.has_waiters() {
                    self.word.clear_waiters(permits);
                } else if permits > 0 {
                    // `WAITERS` is not set, and can only be set under the lock, which we hold. So
                    // this `put` cannot fail.
                    let put = self.word.put(permits, || ());
                    debug_assert!(matches!(put, Put::Done), "`WAITERS` is only set under the lock");
                }
            }
            drop(queue);
            if ended {
                return wakers.wake_all();
            }
            wakers.wake_batch();
            queue = self.queue.lock();
        }
    }
}

impl<H: TrackHolder> PermitSource for BatchSemaphore<H> {
    #[inline]
    fn is_closed(&self) -> bool {
        self.word.is_closed()
    }

    #[inline]
    fn try_acquire(&self, n: usize) -> Result<(), TryAcquireError> {
        self.word.take(n, || self.queue.lock())
    }

    fn release(&self, n: usize) {
        self.holder.release();
        self.release(n);
    }

    unsafe fn enqueue(
        &self,
        n: usize,
        waiter: NonNull<Waiter>,
        waker: &Waker,
        claimant: Option<Claimant>,
    ) -> Result<Enqueued, AcquireError> {
        let waker = waker.clone();
        let mut queue = self.queue.lock();
        let outcome = match self.word.take_or_announce(n) {
            Take::Done => Ok(Enqueued::Granted),
            Take::Closed => Err(AcquireError::closed()),
            Take::Missing(missing) => {
                // SAFETY: the caller upholds the contract of `push` for `waiter`.
                unsafe { queue.push(waiter, missing, claimant, waker) };
                return Ok(Enqueued::Waiting);
            }
        };
        drop(queue);
        // The clone was not needed. If its drop panicked, the caller would not learn that it has
        // the permits, and they would be lost.
        contain_panic(|| drop(waker));
        outcome
    }

    fn claimant(&self) -> Option<Claimant> {
        self.holder.claimant()
    }

    #[inline]
    fn note_wait(&self, kind: WaitKind, n: usize, waker: &Waker) {
        note_with(kind, address(self), waker, || self.describe(n));
    }

    #[inline]
    fn note_holder(&self, collected: bool) {
        if collected {
            self.holder.hold();
        } else {
            self.holder.hold_uncollected();
        }
    }

    fn with_queue<R>(&self, f: impl FnOnce(&mut PermitQueue) -> R) -> R {
        f(&mut self.queue.lock())
    }

    #[cold]
    unsafe fn leave(&self, n: usize, waiter: NonNull<Waiter>) {
        let mut queue = self.queue.lock();
        // SAFETY: by contract `waiter` is live, and in this queue or in none.
        let assigned = unsafe { queue.remove(waiter, n) };
        if assigned > 0 {
            self.holder.release();
        }
        self.assign_to_queue(queue, assigned);
    }
}

impl BatchSemaphore<HolderWord> {
    /// Gives `n` permits of a guard back: all if it was exclusive.
    #[inline]
    pub(crate) fn unlock(&self, n: usize) {
        if holdings::is_watched() {
            self.note_unlock(n);
        }
        self.release(n);
    }

    #[cold]
    #[inline(never)]
    fn note_unlock(&self, n: usize) {
        if self.holder.is_set() {
            self.holder.release();
        } else {
            holdings::released(address(self), n as u64);
        }
    }

    /// Notes that the caller, the holder of all permits, gives all but one back.
    pub(crate) fn note_downgrade(&self, may_move: bool) {
        self.holder.release();
        self.note_read_lock(may_move);
    }

    /// Records that the caller has a read lock. `may_move` is for guards that own their lock.
    #[inline]
    pub(crate) fn note_read_lock(&self, may_move: bool) {
        if holdings::is_watched() {
            holdings::acquired(address(self), 1, may_move);
        }
    }
}

impl<H: TrackHolder> Drop for BatchSemaphore<H> {
    #[inline]
    fn drop(&mut self) {
        if H::IS_RECORDED && holdings::is_watched() {
            holdings::dropped(address(self));
        }
    }
}

impl<H: TrackHolder> BatchSemaphore<H> {
    /// Returns what is known of the semaphore, for a future that waits for `n` of its permits.
    fn describe(&self, n: usize) -> LeafDetails {
        let waiting = self.queue.lock().len_up_to(COUNTED_WAITERS_MAX);
        let available = self.available_permits();
        // With permits available, the word is of a holder that has just released them.
        let holder = if available == 0 { self.holder.holder() } else { None };
        LeafDetails {
            holder,
            available: Some(available as u64),
            wanted: Some(n as u64),
            waiting: Some(waiting as u64),
            ..LeafDetails::default()
        }
    }
}

impl<H: TrackHolder> fmt::Debug for BatchSemaphore<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore").field("permits", &self.available_permits()).finish()
    }
}

#[inline]
#[track_caller]
fn check_request(n: usize) {
    assert!(
        n <= MAX_PERMITS,
        "a semaphore may not have more than MAX_PERMITS permits ({MAX_PERMITS})"
    );
}

#[cfg(all(test, wakeful_loom))]
#[path = "batch_semaphore/tests/loom.rs"]
mod loom;
