//! Recording: figures of all tasks, kept while a [`Guard`] exists.
//!
//! Without one, and without hooks of a runtime, a poll pays for one load of a word that no thread
//! writes, a spawn the same, and a wake-up nothing: the state word tells which tasks are recorded.
//! A task is recorded from its first poll on that begins while recording is on.
//!
//! Each recording has a number, the epoch. What was recorded under another number counts as zero,
//! so nothing has to be cleared when recording ends.
//!
//! Besides the record of each task (`record.rs`), each thread adds up what concerns all tasks. Only
//! that thread writes its sums, so they stay in its cache.

use crate::record::{Epoch, PollTimes};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use wakeful_base::ticks;

/// Set for good once a runtime has hooks for polls or spawns.
const HOOKS: u32 = 1 << 31;
/// The number of the recording, or zero.
const EPOCH: u32 = u16::MAX as u32;

/// What polls and spawns have to do apart from their work. Written only when recording begins or
/// ends, so that each core keeps the cache line.
static OBSERVERS: AtomicU32 = AtomicU32::new(0);

/// Returns whether polls and spawns may have to be recorded, or a runtime has hooks for them.
#[inline]
pub fn has_observers() -> bool {
    OBSERVERS.load(Relaxed) != 0
}

/// Makes [`has_observers`] true for good.
pub fn note_hooks() {
    OBSERVERS.fetch_or(HOOKS, Relaxed);
}

/// Returns the current recording, if there is one.
pub(crate) fn epoch() -> Option<Epoch> {
    let epoch = OBSERVERS.load(Relaxed) as u16;
    (epoch != 0).then_some(Epoch(epoch))
}

/// Returns whether tasks are recorded.
pub fn is_on() -> bool {
    epoch().is_some()
}

struct Guards {
    count: usize,
    last_epoch: u16,
    since: Option<Instant>,
}

static GUARDS: Mutex<Guards> = Mutex::new(Guards { count: 0, last_epoch: 0, since: None });

/// Tasks are recorded while there is one.
#[derive(Debug)]
#[must_use]
pub struct Guard(());

impl Guard {
    /// Begins to record, with all figures at zero, or joins a recording.
    pub fn begin() -> Guard {
        // Before the lock: this may take a while.
        ticks::prepare();
        let mut guards = lock(&GUARDS);
        guards.count += 1;
        if guards.count == 1 {
            guards.last_epoch = guards.last_epoch.checked_add(1).unwrap_or(1);
            guards.since = Some(Instant::now());
            OBSERVERS.fetch_or(guards.last_epoch.into(), Relaxed);
        }
        Guard(())
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let mut guards = lock(&GUARDS);
        guards.count -= 1;
        if guards.count == 0 {
            guards.since = None;
            OBSERVERS.fetch_and(!EPOCH, Relaxed);
        }
    }
}

/// Returns when recording began, if it is on.
pub fn since() -> Option<Instant> {
    lock(&GUARDS).since
}

/// The number of buckets of a histogram. Bucket `n` counts times of at most 2ⁿ µs, and more than
/// the bucket before; the last one also counts all longer times, above half an hour.
pub const BUCKETS: usize = 32;

/// The figures of all tasks together, since recording began.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// How often tasks were woken.
    pub wakes: u64,
    /// How long polls took.
    pub polls: [u64; BUCKETS],
    /// How long tasks were scheduled before they were polled.
    pub scheduled: [u64; BUCKETS],
}

/// The sums of one thread. Never freed: when the thread ends, another one goes on with them.
struct ThreadTotals {
    has_thread: AtomicBool,
    /// The one that was made before.
    next: *const ThreadTotals,
    /// The sums are of another recording unless this is its number.
    epoch: AtomicU32,
    wakes: AtomicU64,
    polls: [AtomicU64; BUCKETS],
    scheduled: [AtomicU64; BUCKETS],
}

// SAFETY: `next` points to a value that is never freed or changed but through its atomics.
unsafe impl Sync for ThreadTotals {}

/// The sums of all threads: the first of a list. No lock: the program's allocator may wake tasks.
static ALL: AtomicPtr<ThreadTotals> = AtomicPtr::new(ptr::null_mut());

fn all() -> impl Iterator<Item = &'static ThreadTotals> {
    // SAFETY: only null and leaked values get into the list, by release operations.
    let follow = |next: *const ThreadTotals| unsafe { next.as_ref() };
    std::iter::successors(follow(ALL.load(Acquire)), move |totals| follow(totals.next))
}

/// The sums of a thread, until it ends.
struct OwnTotals(Cell<Option<&'static ThreadTotals>>);

thread_local! {
    static OWN: OwnTotals = const { OwnTotals(Cell::new(None)) };
}

impl OwnTotals {
    #[inline]
    fn get(&self) -> &'static ThreadTotals {
        self.0.get().unwrap_or_else(|| self.take())
    }

    #[cold]
    fn take(&self) -> &'static ThreadTotals {
        let is_taken = |totals: &&ThreadTotals| !totals.has_thread.swap(true, AcqRel);
        let own = all().find(is_taken).unwrap_or_else(ThreadTotals::add);
        // The allocator may have woken a task in `add`, and so have come here.
        if let Some(before) = self.0.replace(Some(own)) {
            self.0.set(Some(before));
            own.has_thread.store(false, Release);
            return before;
        }
        own
    }
}

impl Drop for OwnTotals {
    fn drop(&mut self) {
        if let Some(own) = self.0.get() {
            own.has_thread.store(false, Release);
        }
    }
}

impl ThreadTotals {
    fn add() -> &'static ThreadTotals {
        let new = Box::leak(Box::new(ThreadTotals {
            has_thread: AtomicBool::new(true),
            next: ptr::null(),
            epoch: AtomicU32::new(0),
            wakes: AtomicU64::new(0),
            polls: [const { AtomicU64::new(0) }; BUCKETS],
            scheduled: [const { AtomicU64::new(0) }; BUCKETS],
        }));
        let mut first = ALL.load(Relaxed);
        loop {
            new.next = first;
            match ALL.compare_exchange_weak(first, new, Release, Relaxed) {
                Ok(_) => return new,
                Err(now) => first = now,
            }
        }
    }
}

/// Adds one to a sum of the calling thread.
fn increment(sum: &AtomicU64) {
    sum.store(sum.load(Relaxed) + 1, Relaxed);
}

fn with_own(epoch: Epoch, add: impl FnOnce(&ThreadTotals)) {
    // Polls and wake-ups on a thread that is just ending are not in the sums.
    let _may_end = OWN.try_with(|own| {
        let own = own.get();
        if own.epoch.load(Relaxed) != epoch.0.into() {
            own.wakes.store(0, Relaxed);
            own.polls.iter().chain(&own.scheduled).for_each(|bucket| bucket.store(0, Relaxed));
            own.epoch.store(epoch.0.into(), Relaxed);
        }
        add(own);
    });
}

fn bucket(ticks: u64) -> usize {
    let us = ticks::to_ns(ticks).div_ceil(1000).max(1);
    // The exponent of the next power of two.
    let exponent = u64::BITS - (us - 1).leading_zeros();
    (exponent as usize).min(BUCKETS - 1)
}

/// Adds a poll to the sums of the calling thread.
pub(crate) fn add_poll(epoch: Epoch, times: PollTimes) {
    with_own(epoch, |own| {
        increment(&own.polls[bucket(times.took)]);
        if let Some(scheduled) = times.scheduled {
            increment(&own.scheduled[bucket(scheduled)]);
        }
    });
}

/// Adds a wake-up to the sums of the calling thread.
pub(crate) fn add_wake(epoch: Epoch) {
    with_own(epoch, |own| increment(&own.wakes));
}

/// Returns the sums over all threads. All are zero if recording is off.
pub fn totals() -> Totals {
    let mut sums = Totals::default();
    let Some(epoch) = epoch() else { return sums };
    for own in all() {
        if own.epoch.load(Relaxed) != epoch.0.into() {
            continue;
        }
        sums.wakes += own.wakes.load(Relaxed);
        for bucket in 0..BUCKETS {
            sums.polls[bucket] += own.polls[bucket].load(Relaxed);
            sums.scheduled[bucket] += own.scheduled[bucket].load(Relaxed);
        }
    }
    sums
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
