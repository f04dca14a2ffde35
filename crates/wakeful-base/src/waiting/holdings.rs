//! Recorded holdings: which tasks hold the permits and locks of a process that is watched.
//!
//! Recording costs more than the notes of [`waiting`](super), so it is off until a debugger thread
//! calls [`watch`], which it does when the process starts. What was acquired before is not known.
//!
//! A permit does not remember the task that acquired it. So a release takes from the entry of the
//! task that releases. If that has none, the permit was moved there, and all entries of its object
//! are marked: any of their permits may have been moved as well.
//!
//! Entries are kept in tables under locks, in shards by object. A shard is bounded: what does not
//! fit is not recorded, and [`read`] says so. An object that is dropped takes its entries with it.
//! A semaphore that is moved leaves the entries of forgotten permits behind; it has no others then,
//! unless a guard was leaked.

use super::current_id;
use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Whether holdings are recorded. Never written otherwise, so that each core keeps the cache line.
static WATCHED: AtomicBool = AtomicBool::new(false);

/// Begins to record holdings, for the rest of the process's life.
pub fn watch() {
    WATCHED.store(true, Relaxed);
}

/// Returns whether holdings are recorded.
#[inline]
pub fn is_watched() -> bool {
    WATCHED.load(Relaxed)
}

/// Permits of a semaphore, or read locks, that a task holds or has forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldPermits {
    /// The address of the semaphore, as in notes.
    pub object: u64,
    /// The id of the task, or of the thread's `block_on`, that acquired or forgot them; zero if it
    /// was neither.
    pub by: u64,
    /// How many they are.
    pub count: u64,
    /// They were forgotten: no guard gives them back.
    pub is_forgotten: bool,
    /// Another task may have them by now: their guard owns its semaphore, or another task has
    /// released permits of this semaphore that it had not acquired.
    pub may_have_moved: bool,
}

/// A task has made or used an end of an mpsc channel.
///
/// A sender that sends while the receiver does not wait, and does not have to wait itself, is not
/// noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChannelUse {
    /// The address of what the ends share, as in notes.
    pub object: u64,
    /// The id of the task, or of the thread's `block_on`; zero if it was neither.
    pub by: u64,
    /// It has made, cloned or used a sender; otherwise it has waited in `recv`.
    pub is_sender: bool,
}

/// What is recorded.
#[derive(Debug, Clone, Default)]
pub struct Holdings {
    /// Permits of semaphores and read locks.
    pub permits: Vec<HeldPermits>,
    /// Uses of mpsc channels.
    pub channels: Vec<ChannelUse>,
    /// The semaphores that got permits by `add_permits`, which may make up for forgotten ones.
    pub refilled: Vec<u64>,
    /// Some permits did not fit.
    pub lacks_permits: bool,
    /// Some uses of channels did not fit.
    pub lacks_channels: bool,
}

/// The limit on the entries of one shard, for permits and for channels. A table of this size takes
/// a few hundred kilobytes.
const ENTRIES_MAX: usize = 4_096;

const SHARDS: usize = 64;

static TABLES: [Mutex<Shard>; SHARDS] = [const { Mutex::new(Shard::new()) }; SHARDS];

static LACKS_PERMITS: AtomicBool = AtomicBool::new(false);
static LACKS_CHANNELS: AtomicBool = AtomicBool::new(false);

/// The entries of the objects whose addresses fall into this shard. Keys begin with the object.
struct Shard {
    held: BTreeMap<(u64, u64), Held>,
    forgotten: BTreeMap<(u64, u64), u64>,
    refilled: BTreeSet<u64>,
    channels: BTreeSet<(u64, u64, bool)>,
}

#[derive(Clone, Copy, Default)]
struct Held {
    count: u64,
    may_have_moved: bool,
}

thread_local! {
    /// This thread has locked a shard. An allocator that uses locks of the runtime, called for an
    /// entry, would otherwise deadlock.
    static RECORDS: Cell<bool> = const { Cell::new(false) };
}

impl Shard {
    const fn new() -> Shard {
        Shard {
            held: BTreeMap::new(),
            forgotten: BTreeMap::new(),
            refilled: BTreeSet::new(),
            channels: BTreeSet::new(),
        }
    }

    fn has_room_for_permits(&self) -> bool {
        let entries = self.held.len() + self.forgotten.len() + self.refilled.len();
        entries < ENTRIES_MAX || {
            LACKS_PERMITS.store(true, Relaxed);
            false
        }
    }

    fn acquire(&mut self, object: u64, by: u64, count: u64, may_move: bool) {
        if self.held.contains_key(&(object, by)) || self.has_room_for_permits() {
            let held = self.held.entry((object, by)).or_default();
            held.count += count;
            held.may_have_moved |= may_move;
        }
    }

    /// Takes `count` permits from the entry of `by`, and the rest from other entries.
    fn release(&mut self, object: u64, by: u64, mut count: u64) {
        if self.take(object, by, &mut count) {
            return;
        }
        let others: Vec<u64> = self.held.range(range(object)).map(|((_, by), _)| *by).collect();
        for by in others {
            self.take(object, by, &mut count);
            if let Some(left) = self.held.get_mut(&(object, by)) {
                left.may_have_moved = true;
            }
        }
    }

    /// Takes up to `count` permits from an entry. Returns whether that was all.
    fn take(&mut self, object: u64, by: u64, count: &mut u64) -> bool {
        if let Some(held) = self.held.get_mut(&(object, by)) {
            let taken = held.count.min(*count);
            *count -= taken;
            held.count -= taken;
            if held.count == 0 {
                self.held.remove(&(object, by));
            }
        }
        *count == 0
    }

    fn forget(&mut self, object: u64, by: u64, count: u64) {
        if self.forgotten.contains_key(&(object, by)) || self.has_room_for_permits() {
            *self.forgotten.entry((object, by)).or_default() += count;
        }
    }

    fn remove(&mut self, object: u64) {
        while let Some((&key, _)) = self.held.range(range(object)).next() {
            self.held.remove(&key);
        }
        while let Some((&key, _)) = self.forgotten.range(range(object)).next() {
            self.forgotten.remove(&key);
        }
        self.refilled.remove(&object);
        let uses = (object, 0, false)..=(object, u64::MAX, true);
        while let Some(&key) = self.channels.range(uses.clone()).next() {
            self.channels.remove(&key);
        }
    }
}

/// The keys of an object.
fn range(object: u64) -> RangeInclusive<(u64, u64)> {
    (object, 0)..=(object, u64::MAX)
}

/// Calls `f` with the shard of `object`. If this thread is in such a call already, sets `lacks`
/// instead.
fn with_shard(object: u64, lacks: &AtomicBool, f: impl FnOnce(&mut Shard)) {
    if RECORDS.replace(true) {
        lacks.store(true, Relaxed);
        return;
    }
    // Objects are 8-aligned and often as far apart as pages: the product spreads them.
    let hash = object.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SHARDS.trailing_zeros());
    f(&mut TABLES[hash as usize].lock().unwrap_or_else(PoisonError::into_inner));
    RECORDS.set(false);
}

/// Records that what this thread polls has acquired permits. `may_move` is for guards that own
/// their semaphore.
#[cold]
pub fn acquired(object: u64, count: u64, may_move: bool) {
    let by = current_id();
    if count > 0 {
        with_shard(object, &LACKS_PERMITS, |shard| shard.acquire(object, by, count, may_move));
    }
}

/// Records that permits are about to be released.
#[cold]
pub fn released(object: u64, count: u64) {
    let by = current_id();
    with_shard(object, &LACKS_PERMITS, |shard| shard.release(object, by, count));
}

/// Records that permits will not be given back. `were_held` says whether a guard had them.
#[cold]
pub fn forgotten(object: u64, count: u64, were_held: bool) {
    let by = current_id();
    if count == 0 {
        return;
    }
    with_shard(object, &LACKS_PERMITS, |shard| {
        if were_held {
            shard.release(object, by, count);
        }
        shard.forget(object, by, count);
    });
}

/// Records that a semaphore gets additional permits.
#[cold]
pub fn refilled(object: u64) {
    with_shard(object, &LACKS_PERMITS, |shard| {
        if shard.has_room_for_permits() {
            shard.refilled.insert(object);
        }
    });
}

/// Records that what this thread polls uses an end of a channel.
#[cold]
pub fn channel_used(object: u64, is_sender: bool) {
    let by = current_id();
    with_shard(object, &LACKS_CHANNELS, |shard| {
        let entry = (object, by, is_sender);
        if shard.channels.contains(&entry) {
            return;
        }
        if shard.channels.len() < ENTRIES_MAX {
            shard.channels.insert(entry);
        } else {
            LACKS_CHANNELS.store(true, Relaxed);
        }
    });
}

/// Removes the entries of a semaphore, lock or channel that is being dropped.
#[cold]
pub fn dropped(object: u64) {
    with_shard(object, &LACKS_PERMITS, |shard| shard.remove(object));
}

/// Returns what is recorded now. Each shard is read at its own time.
pub fn read() -> Holdings {
    let mut all = Holdings::default();
    RECORDS.set(true);
    for shard in &TABLES {
        let shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let held = |(&(object, by), held): (&(u64, u64), &Held)| HeldPermits {
            object,
            by,
            count: held.count,
            is_forgotten: false,
            may_have_moved: held.may_have_moved,
        };
        all.permits.extend(shard.held.iter().map(held));
        let forgotten = |(&(object, by), &count): (&(u64, u64), &u64)| HeldPermits {
            object,
            by,
            count,
            is_forgotten: true,
            may_have_moved: false,
        };
        all.permits.extend(shard.forgotten.iter().map(forgotten));
        all.refilled.extend(&shard.refilled);
        let used = |&(object, by, is_sender): &_| ChannelUse { object, by, is_sender };
        all.channels.extend(shard.channels.iter().map(used));
    }
    RECORDS.set(false);
    all.lacks_permits = LACKS_PERMITS.load(Relaxed);
    all.lacks_channels = LACKS_CHANNELS.load(Relaxed);
    all
}
