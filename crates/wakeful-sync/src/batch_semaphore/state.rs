//! The semaphore's atomic word and its transitions.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | `CLOSED`: no permit is given out any more |
//! | 1 | `WAITERS`: the queue is not empty; the permit count is 0 then |
//! | 2… | number of available permits |
//!
//! Without `WAITERS`, any thread takes and puts permits by compare-and-swap. With it, only the
//! holder of the queue's lock writes to the word: a thread that puts permits has to assign them to
//! the queue, so that no later request overtakes the waiters.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use wakeful_base::sync::atomic::AtomicUsize;

use super::MAX_PERMITS;
use crate::acquire_error::TryAcquireError;

const CLOSED: usize = 0b01;
const WAITERS: usize = 0b10;
const SHIFT: u32 = 2;

pub(super) struct PermitWord(AtomicUsize);

/// Outcome of [`PermitWord::put`].
#[must_use]
pub(super) enum Put {
    Done,
    /// The word is unchanged: the permits have to be assigned to the queue, under its lock.
    MustAssign,
}

/// Outcome of [`PermitWord::take_or_announce`].
#[must_use]
pub(super) enum Take {
    Done,
    /// All available permits have been taken. This many are missing, and `WAITERS` is set.
    Missing(usize),
    Closed,
}

/// How many lost compare-and-swaps make a thread wait its turn. With that many threads at the word
/// each exchange that is lost delays the next one, and all make less progress than one would.
const LOST_MAX: u32 = if cfg!(wakeful_loom) { 1 } else { 4 };

/// The lost compare-and-swaps of one transition. After some, the thread takes a lock, so that one
/// thread at a time retries.
struct Contention<G, F> {
    lost: u32,
    begin_turn: Option<F>,
    turn: Option<G>,
}

impl<G, F: FnOnce() -> G> Contention<G, F> {
    #[inline]
    fn new(begin_turn: F) -> Self {
        Contention { lost: 0, begin_turn: Some(begin_turn), turn: None }
    }

    /// Notes a lost exchange that found `now`. Returns the word to go on with.
    #[cold]
    fn lost(&mut self, now: usize, reload: impl FnOnce() -> usize) -> usize {
        self.lost += 1;
        if self.lost < LOST_MAX || self.turn.is_some() {
            return now;
        }
        self.turn = self.begin_turn.take().map(|begin_turn| begin_turn());
        reload()
    }
}

impl PermitWord {
    #[cfg(not(wakeful_loom))]
    pub(super) const fn new(permits: usize) -> Self {
        PermitWord(AtomicUsize::new(permits << SHIFT))
    }

    #[cfg(wakeful_loom)]
    pub(super) fn new(permits: usize) -> Self {
        PermitWord(AtomicUsize::new(permits << SHIFT))
    }

    #[inline]
    pub(super) fn permits(&self) -> usize {
        self.0.load(Acquire) >> SHIFT
    }

    #[inline]
    pub(super) fn is_closed(&self) -> bool {
        self.0.load(Acquire) & CLOSED != 0
    }

    /// Takes `n` permits if they are available. Calls `contended` once if many other threads take
    /// and put permits, and keeps its result until the end.
    #[inline]
    pub(super) fn take<G>(
        &self,
        n: usize,
        contended: impl FnOnce() -> G,
    ) -> Result<(), TryAcquireError> {
        let mut word = self.0.load(Acquire);
        let mut contention = Contention::new(contended);
        loop {
            if word & CLOSED != 0 {
                return Err(TryAcquireError::Closed);
            }
            if word >> SHIFT < n {
                return Err(TryAcquireError::NoPermits);
            }
            let less = word - (n << SHIFT);
            match self.0.compare_exchange_weak(word, less, Acquire, Acquire) {
                Ok(_) => return Ok(()),
                Err(now) => word = contention.lost(now, || self.0.load(Acquire)),
            }
        }
    }

    /// Puts `n` permits back, unless tasks wait for permits. `contended` is as for
    /// [`take`](Self::take).
    #[inline]
    pub(super) fn put<G>(&self, n: usize, contended: impl FnOnce() -> G) -> Put {
        let mut word = self.0.load(Relaxed);
        let mut contention = Contention::new(contended);
        while word & WAITERS == 0 {
            check_overflow(word >> SHIFT, n);
            match self.0.compare_exchange_weak(word, word + (n << SHIFT), Release, Relaxed) {
                Ok(_) => return Put::Done,
                Err(now) => word = contention.lost(now, || self.0.load(Relaxed)),
            }
        }
        // With waiters the count is 0. Checked here, since a panic under the lock, after some
        // permits have been assigned, would be too late.
        check_overflow(0, n);
        Put::MustAssign
    }

    /// Takes `n` permits; if there are fewer, takes all and sets `WAITERS`. Only under the lock.
    pub(super) fn take_or_announce(&self, n: usize) -> Take {
        let mut word = self.0.load(Acquire);
        loop {
            if word & CLOSED != 0 {
                return Take::Closed;
            }
            let available = word >> SHIFT;
            let (next, outcome) = if available >= n {
                (word - (n << SHIFT), Take::Done)
            } else {
                (WAITERS, Take::Missing(n - available))
            };
            // Waiters are queued already, so no other thread writes to the word. If this thread
            // does not either, the cache line can stay shared.
            if next == word {
                return outcome;
            }
            match self.0.compare_exchange_weak(word, next, AcqRel, Acquire) {
                Ok(_) => return outcome,
                Err(now) => word = now,
            }
        }
    }

    /// Clears `WAITERS` when the queue has become empty, with `permits` left over.
    ///
    /// Only under the lock, with `WAITERS` set.
    pub(super) fn clear_waiters(&self, permits: usize) {
        let word = self.0.load(Relaxed);
        debug_assert_eq!(word & !CLOSED, WAITERS, "with waiters there are no permits in the word");
        check_overflow(0, permits);
        self.0.store(permits << SHIFT | word & CLOSED, Release);
    }

    /// Returns whether `WAITERS` is set. Only under the lock.
    pub(super) fn has_waiters(&self) -> bool {
        self.0.load(Relaxed) & WAITERS != 0
    }

    /// Sets `CLOSED`. Only under the lock.
    pub(super) fn close(&self) {
        self.0.fetch_or(CLOSED, Release);
    }

    /// Removes up to `n` of the available permits for good and returns how many it removed.
    pub(super) fn forget(&self, n: usize) -> usize {
        let mut word = self.0.load(Acquire);
        loop {
            let gone = n.min(word >> SHIFT);
            if gone == 0 {
                return 0;
            }
            let less = word - (gone << SHIFT);
            match self.0.compare_exchange_weak(word, less, AcqRel, Acquire) {
                Ok(_) => return gone,
                Err(now) => word = now,
            }
        }
    }
}

/// Panics if `available + added` is more than [`MAX_PERMITS`].
#[inline]
#[track_caller]
fn check_overflow(available: usize, added: usize) {
    if added > MAX_PERMITS - available {
        too_many(added);
    }
}

#[cold]
#[track_caller]
fn too_many(added: usize) -> ! {
    panic!("number of added permits ({added}) would overflow MAX_PERMITS ({MAX_PERMITS})")
}
