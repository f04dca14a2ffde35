//! What is recorded of one task, and where the header keeps it.
//!
//! The header has one word for the task's **origin**: the place of its `spawn` call, until there is
//! more to keep. The lowest bits of the pointer tell what it points to.
//!
//! ```text
//!        set_name, keep_times               record_or_install
//!  Location ───────────▶ Kept ──┐   ┌──────────────────────────────▶ Record
//!      │                        └───┤                                │ its own origin
//!      └────────────────────────────┘                                ▼
//!                                        Location ──set_name, keep_times──▶ Kept
//! ```
//!
//! Each arrow is one compare-and-swap, which publishes the new memory. Nothing is ever replaced by
//! something else of the same level, and all of it is freed with the task. So any
//! holder of a reference to the task may read all of it at any time.
//!
//! | field of a record | written by |
//! |---|---|
//! | `epoch_and_age` | the creator, then the holder of the right to poll |
//! | `polls` to `scheduled_max_us` | the holder of the right to poll |
//! | `woken_at`, `woken_by` | the first wake-up after a poll began, and the holder of that right |
//! | `wakes`, `self_wakes` | any thread that wakes the task |
//!
//! All figures are relaxed atomics: a reader gets each of them whole, but not all of the same
//! instant.

use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::time::Duration;
use wakeful_base::slab_alloc;
use wakeful_base::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use wakeful_base::ticks;

const RECORD: usize = 1;
const KEPT: usize = 2;
const TAGS: usize = RECORD | KEPT;

const _: () = assert!(align_of::<Location<'_>>() > TAGS && align_of::<Record>() > TAGS);

/// A tagged pointer to what is known of a task apart from its state.
pub(crate) struct Origin(AtomicPtr<()>);

/// What a task keeps whether it is recorded or not.
#[repr(C)]
struct Kept {
    location: &'static Location<'static>,
    /// The name from `task::Builder`.
    name: OnceLock<Box<str>>,
    /// When the task was scheduled last, on a clock of the scheduler's. Only written if the runtime
    /// measures that.
    scheduled_at_ns: AtomicU64,
}

enum Target<'a> {
    Location(&'static Location<'static>),
    Kept(&'a Kept),
    Record(&'a Record),
}

fn location_word(location: &'static Location<'static>) -> *mut () {
    ptr::from_ref(location).cast_mut().cast()
}

impl Origin {
    pub(crate) fn new(location: &'static Location<'static>) -> Origin {
        Origin(AtomicPtr::new(location_word(location)))
    }

    fn target(&self) -> Target<'_> {
        let word = self.0.load(Acquire);
        let untagged = word.map_addr(|addr| addr & !TAGS);
        // SAFETY: the tag says what the pointer is: a location, or memory that this origin owns
        // and that was published by a release operation, which the load above has acquired. It is
        // freed when the origin is dropped, so not while it is borrowed.
        unsafe {
            match word.addr() & TAGS {
                RECORD => Target::Record(&*untagged.cast()),
                KEPT => Target::Kept(&*untagged.cast()),
                _ => Target::Location(&*untagged.cast()),
            }
        }
    }

    /// Returns where the task was spawned.
    #[inline]
    pub(crate) fn location(&self) -> &'static Location<'static> {
        let word = self.0.load(Acquire);
        if word.addr() & TAGS == 0 {
            // SAFETY: a word without a tag is a location.
            return unsafe { &*word.cast::<Location<'static>>() };
        }
        self.kept_location()
    }

    #[cold]
    fn kept_location(&self) -> &'static Location<'static> {
        match self.target() {
            Target::Location(location) => location,
            Target::Kept(kept) => kept.location,
            Target::Record(record) => record.origin.location(),
        }
    }

    /// Returns the task's name, if it has one.
    pub(crate) fn name(&self) -> Option<&str> {
        self.kept()?.name.get().map(|name| &**name)
    }

    /// Returns the task's record, if it has one.
    pub(crate) fn record(&self) -> Option<&Record> {
        match self.target() {
            Target::Record(record) => Some(record),
            Target::Location(_) | Target::Kept(_) => None,
        }
    }

    /// Names the task, unless it has a name.
    pub(crate) fn set_name(&self, name: &str) {
        let _named_before = self.kept_or_install().name.set(Box::from(name));
    }

    /// Makes the task keep when it is scheduled.
    pub(crate) fn keep_times(&self) {
        self.kept_or_install();
    }

    /// Notes when the task is scheduled. Only the holder of its queue entry may do so: the queue
    /// makes it visible to the thread that polls the task.
    pub(crate) fn note_scheduled(&self, now_ns: u64) {
        if let Some(kept) = self.kept() {
            kept.scheduled_at_ns.store(now_ns, Relaxed);
        }
    }

    /// Returns when the task was scheduled last, if it keeps that.
    pub(crate) fn scheduled_at_ns(&self) -> Option<u64> {
        self.kept().map(|kept| kept.scheduled_at_ns.load(Relaxed))
    }

    fn kept(&self) -> Option<&Kept> {
        match self.target() {
            Target::Location(_) => None,
            Target::Kept(kept) => Some(kept),
            Target::Record(record) => record.origin.kept(),
        }
    }

    /// Returns what the task keeps, after making room for it if there is none.
    fn kept_or_install(&self) -> &Kept {
        let location = match self.target() {
            Target::Location(location) => location,
            Target::Kept(kept) => return kept,
            Target::Record(record) => return record.origin.kept_or_install(),
        };
        let name = OnceLock::new();
        let new = Box::new(Kept { location, name, scheduled_at_ns: AtomicU64::new(0) });
        let new = Box::into_raw(new);
        let word = new.cast::<()>().map_addr(|addr| addr | KEPT);
        match self.0.compare_exchange(location_word(location), word, AcqRel, Acquire) {
            // SAFETY: published just now, and freed when the origin is dropped.
            Ok(_) => unsafe { &*new },
            Err(_) => {
                // SAFETY: made by `Box::into_raw` above, and not published.
                drop(unsafe { Box::from_raw(new) });
                // Another thread was first, or the task has got a record.
                self.kept_or_install()
            }
        }
    }

    /// Returns the task's record, after giving it one if it has none.
    ///
    /// Only the holder of the right to poll calls this. Another thread may name the task meanwhile.
    pub(crate) fn record_or_install(&self) -> &Record {
        let mut before = self.0.load(Acquire);
        if before.addr() & TAGS == RECORD {
            // SAFETY: as in `target`.
            return unsafe { &*before.map_addr(|addr| addr & !TAGS).cast() };
        }
        let place = slab_alloc::allocate::<Record>();
        loop {
            // SAFETY: the memory was just allocated for a record, and is not shared yet. A record
            // that was written in an earlier round needs no drop: it owns nothing until it is
            // published, whatever its origin says.
            unsafe { place.write(Record::new(Origin(AtomicPtr::new(before)))) };
            let word = place.as_ptr().cast::<()>().map_addr(|addr| addr | RECORD);
            match self.0.compare_exchange(before, word, AcqRel, Acquire) {
                // SAFETY: published just now, and freed when the origin is dropped.
                Ok(_) => return unsafe { place.as_ref() },
                Err(now) => before = now,
            }
        }
    }

    /// Returns the address of the location, of a copy of an origin that may be gone. `read` copies
    /// a word of memory that may be gone as well.
    ///
    /// If the task was alive all the time, the address is right.
    pub(crate) fn location_addr(
        mut word: usize,
        read: impl Fn(usize) -> Option<usize>,
    ) -> Option<usize> {
        // The first word of a `Record` is its origin, which is at most a `Kept`, whose first word
        // is the location.
        for _ in 0..2 {
            if word & TAGS != 0 {
                word = read(word & !TAGS)?;
            }
        }
        Some(word & !TAGS)
    }
}

impl Drop for Origin {
    #[inline]
    fn drop(&mut self) {
        // The thread that drops the task has acquired its last reference.
        let word = self.0.load(Relaxed);
        if word.addr() & TAGS != 0 {
            free(word);
        }
    }
}

/// Frees what a tagged word points to.
#[cold]
fn free(word: *mut ()) {
    let untagged = word.map_addr(|addr| addr & !TAGS);
    // SAFETY: the tag says how the memory was allocated. The origin that owned it is being dropped.
    unsafe {
        if word.addr() & TAGS == KEPT {
            drop(Box::from_raw(untagged.cast::<Kept>()));
        } else {
            let record = NonNull::new_unchecked(untagged.cast::<Record>());
            record.drop_in_place();
            slab_alloc::free(record);
        }
    }
}

/// How many low bits of a time in ticks are dropped to store when a task was spawned: 48 bits are
/// left beside the epoch, for years of uptime.
const AGE_SHIFT: u32 = 10;
const EPOCH_BITS: u32 = 16;

/// The number of a recording. Figures of another one count as zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Epoch(pub(crate) u16);

/// The figures of one task. Times are in [`ticks`].
#[repr(C)]
pub(crate) struct Record {
    origin: Origin,
    /// When the task was spawned, above the number of the recording.
    epoch_and_age: AtomicU64,
    polls: AtomicU64,
    busy: AtomicU64,
    last_poll_at: AtomicU64,
    /// The sum of the delays between a wake-up and its poll.
    scheduled: AtomicU64,
    last_poll_us: AtomicU32,
    scheduled_max_us: AtomicU32,
    /// When the task was woken for its next poll, or zero.
    woken_at: AtomicU64,
    woken_by: AtomicU64,
    wakes: AtomicU64,
    self_wakes: AtomicU64,
}

// With the word in front of each piece of a slab this makes 96 bytes.
#[cfg(all(target_pointer_width = "64", not(wakeful_loom)))]
const _: () = assert!(size_of::<Record>() <= 88, "a watched program pays for it with every task");

/// The times of a poll that has been recorded, in ticks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PollTimes {
    pub(crate) took: u64,
    /// How long the task had been scheduled before, if that is known.
    pub(crate) scheduled: Option<u64>,
}

fn to_us(ticks: u64) -> u32 {
    u32::try_from(ticks::to_ns(ticks) / 1000).unwrap_or(u32::MAX)
}

/// Adds to a figure that only the calling thread may write.
#[inline]
fn add(figure: &AtomicU64, n: u64) {
    figure.store(figure.load(Relaxed).wrapping_add(n), Relaxed);
}

impl Record {
    fn new(origin: Origin) -> Record {
        let zero = || AtomicU64::new(0);
        Record {
            origin,
            epoch_and_age: zero(),
            polls: zero(),
            busy: zero(),
            last_poll_at: zero(),
            scheduled: zero(),
            last_poll_us: AtomicU32::new(0),
            scheduled_max_us: AtomicU32::new(0),
            woken_at: zero(),
            woken_by: zero(),
            wakes: zero(),
            self_wakes: zero(),
        }
    }

    fn is_of(&self, epoch: Epoch) -> bool {
        // Acquire: a wake-up must not be added before `reset` has cleared the number of them.
        self.epoch_and_age.load(Acquire) as u16 == epoch.0
    }

    /// Begins the figures anew, in another recording.
    #[cold]
    fn reset(&self, epoch: Epoch) {
        let figures = [
            &self.polls,
            &self.busy,
            &self.last_poll_at,
            &self.scheduled,
            &self.woken_at,
            &self.woken_by,
            &self.wakes,
            &self.self_wakes,
        ];
        figures.into_iter().for_each(|figure| figure.store(0, Relaxed));
        self.last_poll_us.store(0, Relaxed);
        self.scheduled_max_us.store(0, Relaxed);
        let age = self.epoch_and_age.load(Relaxed) >> EPOCH_BITS << EPOCH_BITS;
        self.epoch_and_age.store(age | u64::from(epoch.0), Release);
    }

    /// Notes that the task has just been spawned by `by`, and is scheduled.
    pub(crate) fn note_spawn(&self, epoch: Epoch, now: u64, by: u64) {
        self.woken_at.store(now, Relaxed);
        self.woken_by.store(by, Relaxed);
        let age = now >> AGE_SHIFT << EPOCH_BITS;
        self.epoch_and_age.store(age | u64::from(epoch.0), Release);
    }

    /// Begins a poll. Returns how long the task was scheduled, if that is known.
    pub(crate) fn begin_poll(&self, epoch: Epoch, now: u64) -> Option<u64> {
        if !self.is_of(epoch) {
            self.reset(epoch);
        }
        add(&self.polls, 1);
        self.last_poll_at.store(now, Relaxed);
        let woken_at = self.woken_at.load(Relaxed);
        if woken_at == 0 {
            return None;
        }
        self.woken_at.store(0, Relaxed);
        // The counters of two cores may differ by some ticks.
        let scheduled = now.saturating_sub(woken_at);
        add(&self.scheduled, scheduled);
        let us = to_us(scheduled);
        if us > self.scheduled_max_us.load(Relaxed) {
            self.scheduled_max_us.store(us, Relaxed);
        }
        Some(scheduled)
    }

    /// Ends a poll. With `yields`, the task `id` is scheduled again by itself, without a waker.
    pub(crate) fn end_poll(&self, begun: u64, now: u64, yields: bool, id: u64) -> u64 {
        let took = now.saturating_sub(begun);
        add(&self.busy, took);
        self.last_poll_us.store(to_us(took), Relaxed);
        if yields {
            self.wakes.fetch_add(1, Relaxed);
            self.self_wakes.fetch_add(1, Relaxed);
            self.woken_by.store(id, Relaxed);
            self.woken_at.store(now, Relaxed);
        } else if self.woken_at.load(Relaxed) != 0 {
            // Woken during the poll: it can only be polled again from now on.
            self.woken_at.store(now, Relaxed);
        }
        took
    }

    /// Notes a wake-up by `by`, which is the task itself if `is_own`. Called before the state word
    /// changes: afterwards the poll could begin first, and the wake-up would be taken for that of
    /// the next one. Returns whether it was recorded.
    pub(crate) fn note_wake(&self, epoch: Epoch, now: u64, by: u64, is_own: bool) -> bool {
        if !self.is_of(epoch) {
            return false;
        }
        self.wakes.fetch_add(1, Relaxed);
        if is_own {
            self.self_wakes.fetch_add(1, Relaxed);
        }
        // Further wake-ups before the next poll add nothing.
        if self.woken_at.load(Relaxed) == 0
            && self.woken_at.compare_exchange(0, now, Relaxed, Relaxed).is_ok()
        {
            self.woken_by.store(by, Relaxed);
        }
        true
    }

    /// Returns when the task was spawned, if that is known.
    pub(crate) fn age(&self, now: u64) -> Option<Duration> {
        let spawned = self.epoch_and_age.load(Relaxed) >> EPOCH_BITS << AGE_SHIFT;
        (spawned != 0).then(|| since(spawned, now))
    }

    /// Returns the figures, if they are of this recording.
    pub(crate) fn read(&self, epoch: Epoch, now: u64) -> Option<TaskFigures> {
        if !self.is_of(epoch) {
            return None;
        }
        let get = |figure: &AtomicU64| figure.load(Relaxed);
        let us = |figure: &AtomicU32| Duration::from_micros(figure.load(Relaxed).into());
        let ago = |ticks: u64| (ticks != 0).then(|| since(ticks, now));
        Some(TaskFigures {
            polls: get(&self.polls),
            busy: Duration::from_nanos(ticks::to_ns(get(&self.busy))),
            last_poll: us(&self.last_poll_us),
            last_poll_ago: ago(get(&self.last_poll_at)),
            wakes: get(&self.wakes),
            self_wakes: get(&self.self_wakes),
            woken_by: Some(get(&self.woken_by)).filter(|&by| by != 0),
            woken_ago: ago(get(&self.woken_at)),
            scheduled: Duration::from_nanos(ticks::to_ns(get(&self.scheduled))),
            scheduled_max: us(&self.scheduled_max_us),
        })
    }
}

fn since(ticks: u64, now: u64) -> Duration {
    Duration::from_nanos(ticks::to_ns(now.saturating_sub(ticks)))
}

/// What was recorded of a task since recording began. Each figure is of its own instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskFigures {
    /// How often it was polled, with the poll that runs now.
    pub polls: u64,
    /// How long its polls took, without one that runs now.
    pub busy: Duration,
    /// How long the last poll took that has returned.
    pub last_poll: Duration,
    /// How long ago the last poll began.
    pub last_poll_ago: Option<Duration>,
    /// How often it was woken, also while it was scheduled already.
    pub wakes: u64,
    /// How often it was woken by itself, or yielded.
    pub self_wakes: u64,
    /// The task, or thread in `block_on`, whose wake-up led to the last poll or leads to the next
    /// one. For a task that has not been woken, the one that spawned it. `None` if it was none of
    /// them: the driver, a timer, or another thread.
    pub woken_by: Option<u64>,
    /// How long ago it was woken, if it has not been polled since.
    pub woken_ago: Option<Duration>,
    /// The sum of the delays between wake-ups, or the spawn, and the polls that followed.
    pub scheduled: Duration,
    /// The longest of these delays.
    pub scheduled_max: Duration,
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "record/tests/loom.rs"]
mod loom;
