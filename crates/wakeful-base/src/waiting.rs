//! What the future that a thread polls waits for.
//!
//! Each task, and each future of a `block_on`, has a [`WaitSlot`]. While it is polled, the thread's
//! slot is that one ([`enter`]). A leaf future [notes](note) what it waits for before it returns
//! `Pending`; the last note of a poll stays in the slot until the next poll. That costs a store,
//! and is always on.
//!
//! A debugger thread that wants more **asks**: it wakes a task and has its next poll
//! [collected](collect). Every leaf that returns `Pending` in that poll then adds a [`Leaf`] with
//! its details and the stack on which it was polled. The poll is an ordinary one: a spurious
//! wake-up is legal for every future.
//!
//! ```text
//!   poll begins: word = NOTHING ──leaf: note──▶ word = kind, detail ──▶ the poll returns Pending
//!                                   │
//!                                   └─ if this poll is collected: Leaf
//! ```
//!
//! An address in a note is only a name to compare. It is never dereferenced, since the leaf may be
//! gone: a `select!` drops the futures that it does not need.

use crate::sync::atomic::AtomicPtr;
use std::cell::Cell;
use std::fmt;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::task::{RawWakerVTable, Waker};

pub mod holdings;
mod stack;

pub use stack::Stack;

/// The kind of thing that a leaf future waits for, and what its detail says.
///
/// From `Mutex` to `OnceCell`, and for `Pipe`, the detail is an address. It is the same for all
/// futures that wait at the same object, and no other live object has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
#[repr(u8)]
pub enum WaitKind {
    /// Unknown: the leaf is not one of this runtime's.
    Unknown = 0,
    /// Its next poll: the task yielded, or its budget is used up.
    Turn,
    /// The end of a task. The detail is its id.
    Task,
    /// The end of any task of a `JoinSet`, or of all tasks of a `LocalSet`.
    AnyTask,
    /// A point in time. The detail is the deadline in microseconds, on the runtime's clock.
    Time,
    /// Data to read from a descriptor, which is the detail.
    IoRead,
    /// Room to write to a descriptor, which is the detail.
    IoWrite,
    /// A mutex: the address of the semaphore inside.
    Mutex,
    /// A read lock: the address of the lock's semaphore.
    RwLockRead,
    /// A write lock: as for read locks.
    RwLockWrite,
    /// Permits of a semaphore: its address.
    Semaphore,
    /// A message of an mpsc channel: the address of what its ends share, as for all channels.
    MpscRecv,
    /// Room in an mpsc channel.
    MpscSend,
    /// The end of all receivers of a channel: `Sender::closed`.
    Closed,
    /// The value of a oneshot channel.
    OneshotRecv,
    /// A notification: the address of the `Notify`.
    Notify,
    /// A new value of a watch channel.
    Watch,
    /// A message of a broadcast channel.
    Broadcast,
    /// The other tasks of a barrier: its address.
    Barrier,
    /// The initialization of a `OnceCell` or `SetOnce`: its address.
    OnceCell,
    /// A signal. The detail is its number.
    Signal,
    /// The end of a process. The detail is its id.
    Process,
    /// The other end of an in-memory pipe: the address of what its ends share.
    Pipe,
}

/// All kinds, in the order of their numbers.
pub const WAIT_KINDS: [WaitKind; 23] = {
    use WaitKind::*;
    [
        Unknown,
        Turn,
        Task,
        AnyTask,
        Time,
        IoRead,
        IoWrite,
        Mutex,
        RwLockRead,
        RwLockWrite,
        Semaphore,
        MpscRecv,
        MpscSend,
        Closed,
        OneshotRecv,
        Notify,
        Watch,
        Broadcast,
        Barrier,
        OnceCell,
        Signal,
        Process,
        Pipe,
    ]
};

/// What was noted last in a poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// The kind of thing waited for.
    pub kind: WaitKind,
    /// What [`WaitKind`] says, truncated to the bits that fit.
    pub detail: u64,
    /// The word was marked ([`WaitSlot::look`]) since the poll.
    pub is_seen: bool,
}

/// Always set in a word that is a note. Clear in a queue link, which is an aligned pointer.
const IS_NOTE: usize = 1;
const KIND_SHIFT: u32 = 1;
const KIND_MASK: usize = 0x3f;
const SEEN: usize = 1 << 7;
const DETAIL_SHIFT: u32 = 8;
/// The word of a poll that has not noted anything yet.
const NOTHING: usize = IS_NOTE;

/// Set in a pointer in `CURRENT` whose slot takes no notes.
const NO_NOTES: usize = 1;
/// Set in a pointer in `CURRENT` during a collected poll.
const COLLECTED: usize = 2;
/// The bits of a pointer in `CURRENT` that are not the slot's address.
const MARKS: usize = NO_NOTES | COLLECTED;

const _: () = assert!(align_of::<WaitSlot>() > MARKS, "the marks fit beside the address");

/// The id of a task or of a thread's `block_on`, and the word that says what it waits for.
///
/// The word of a task doubles as its link in intrusive queues, so a slot has the size of two words.
#[repr(C)]
pub struct WaitSlot {
    id: u64,
    word: AtomicPtr<()>,
}

impl WaitSlot {
    /// Where the id lies in a slot.
    pub const ID_OFFSET: usize = std::mem::offset_of!(WaitSlot, id);

    /// Creates the slot of the task with this id.
    pub fn new(id: u64) -> WaitSlot {
        WaitSlot { id, word: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Returns the id.
    #[inline]
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the word, for the queue that the task is in.
    pub fn word(&self) -> &AtomicPtr<()> {
        &self.word
    }

    /// Returns what was noted last, or `None` while the word is a queue link.
    ///
    /// The result says what the future waits for only while it is neither queued nor polled.
    pub fn waits(&self) -> Option<Waits> {
        unpack(self.word.load(Relaxed).addr())
    }

    /// Returns what was noted last, and marks the note as seen, in one step. The mark is gone after
    /// the next poll. `None` while the word is a queue link.
    pub fn look(&self) -> Option<Waits> {
        let mut word = self.word.load(Relaxed);
        loop {
            let waits = unpack(word.addr())?;
            let marked = ptr::without_provenance_mut(word.addr() | SEEN);
            // A queue that links the task, or a poll, overwrites the word at any time, and then the
            // exchange fails: a link never equals a note.
            match self.word.compare_exchange(word, marked, Relaxed, Relaxed) {
                Ok(_) => return Some(waits),
                Err(now) => word = now,
            }
        }
    }

    #[inline]
    fn set(&self, word: usize) {
        self.word.store(ptr::without_provenance_mut(word), Relaxed);
    }
}

impl fmt::Debug for WaitSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitSlot").field("id", &self.id()).field("waits", &self.waits()).finish()
    }
}

#[inline]
fn pack(kind: WaitKind, detail: u64) -> usize {
    (detail as usize) << DETAIL_SHIFT | (kind as usize) << KIND_SHIFT | IS_NOTE
}

fn unpack(word: usize) -> Option<Waits> {
    let kind = WAIT_KINDS.get(word >> KIND_SHIFT & KIND_MASK).copied();
    (word & IS_NOTE != 0).then(|| Waits {
        kind: kind.unwrap_or(WaitKind::Unknown),
        detail: (word >> DETAIL_SHIFT) as u64,
        is_seen: word & SEEN != 0,
    })
}

crate::per_thread! {
    /// The slot of what this thread polls, with `MARKS` in the lowest bits.
    static CURRENT: Cell<*const WaitSlot> = const { Cell::new(ptr::without_provenance(NO_NOTES)) };
}

/// Makes a slot the thread's current one until dropped.
#[must_use]
pub struct CurrentSlot {
    before: *const WaitSlot,
}

impl Drop for CurrentSlot {
    #[inline]
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.before));
    }
}

/// Makes `slot` the current one for a poll, and clears its note.
///
/// # Safety
/// `slot` must be valid until the guard is dropped. Its word must be in no queue until then.
#[inline]
pub unsafe fn enter(slot: *const WaitSlot) -> CurrentSlot {
    // SAFETY: by contract.
    unsafe { &*slot }.set(NOTHING);
    CurrentSlot { before: CURRENT.with(|current| current.replace(slot)) }
}

/// Makes `slot` the current one for code that is not a poll: its notes are ignored, and its word,
/// which may be in a queue, is not touched.
///
/// # Safety
/// `slot` must be valid until the guard is dropped.
#[inline]
pub unsafe fn enter_without_notes(slot: *const WaitSlot) -> CurrentSlot {
    let slot = slot.map_addr(|addr| addr | NO_NOTES);
    CurrentSlot { before: CURRENT.with(|current| current.replace(slot)) }
}

/// Calls `f` with the slot of what this thread polls or drops, if any.
#[inline]
pub fn with_current<R>(f: impl FnOnce(Option<&WaitSlot>) -> R) -> R {
    let current = CURRENT.with(Cell::get).map_addr(|addr| addr & !MARKS);
    // SAFETY: `CURRENT` is set only while a `CurrentSlot` exists on this thread's stack, whose
    // creator keeps the slot valid. Its initial value is null apart from the marks.
    f(unsafe { current.as_ref() })
}

/// Returns whether this thread is in a poll that is collected.
#[cfg(feature = "taskdump")]
pub fn is_collecting() -> bool {
    CURRENT.with(Cell::get).addr() & COLLECTED != 0
}

/// Returns the id of what this thread polls, or zero.
#[inline]
pub fn current_id() -> u64 {
    let current = CURRENT.with(Cell::get);
    if current.addr() & NO_NOTES != 0 {
        return 0;
    }
    // SAFETY: as in `with_current`; a slot that takes notes is not null.
    unsafe { &*current.map_addr(|addr| addr & !MARKS) }.id()
}

/// How many debugger threads are asking tasks.
static ASKING: AtomicUsize = AtomicUsize::new(0);

/// Lets asked tasks leave their answers, until dropped.
#[derive(Debug)]
#[must_use]
pub struct Asking(());

impl Asking {
    /// Begins to ask.
    pub fn begin() -> Asking {
        ASKING.fetch_add(1, Relaxed);
        Asking(())
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        ASKING.fetch_sub(1, Relaxed);
    }
}

/// Notes what the current task waits for.
///
/// A leaf future calls this before it returns `Pending`, with the waker that it has registered, and
/// without a lock held.
#[inline]
pub fn note(kind: WaitKind, detail: u64, waker: &Waker) {
    note_with(kind, detail, waker, LeafDetails::default);
}

/// The same as [`note`]. `describe` is called if the poll is collected.
#[inline]
pub fn note_with(
    kind: WaitKind,
    detail: u64,
    waker: &Waker,
    describe: impl FnOnce() -> LeafDetails,
) {
    let current = CURRENT.with(Cell::get);
    if current.addr() & MARKS != 0 {
        return add_leaf(kind, detail, waker, describe);
    }
    // SAFETY: as in `with_current`; a slot that takes notes is not null.
    unsafe { &*current }.set(pack(kind, detail));
}

/// The address of a lock or channel, as the detail of a note.
#[inline]
pub fn address<T: ?Sized>(object: &T) -> u64 {
    ptr::from_ref(object).addr() as u64
}

/// What a leaf future knows of the thing it waits for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeafDetails {
    /// The holder of the lock, if the process is watched (see [`holdings`]).
    pub holder: Option<Holder>,
    /// How many permits, messages or free places there are now.
    pub available: Option<u64>,
    /// How many there can be: the capacity of a channel, the parties of a barrier.
    pub limit: Option<u64>,
    /// How many this leaf asks for.
    pub wanted: Option<u64>,
    /// How many wait at the same thing, this leaf included.
    pub waiting: Option<u64>,
    /// The senders of a channel that are alive.
    pub senders: Option<u64>,
    /// The receivers of a channel that are alive.
    pub receivers: Option<u64>,
    /// The id of the task that received from the channel last, and waited for that.
    pub receiver: Option<u64>,
}

/// The task or thread that holds a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// The lower 32 bits of the holder's id; zero if it was neither a task nor in `block_on`.
    pub id_low: u32,
    /// The id is that of a thread's `block_on`:
    /// [`THREAD_ID`](crate::threads::THREAD_ID) is set in it.
    pub is_thread: bool,
    /// The lock was granted to a waiting future that has not been polled since.
    pub is_granted: bool,
    /// The guard owns its lock, so it may have been moved to another task.
    pub is_owned: bool,
}

/// A leaf future that returned `Pending` in a collected poll.
#[derive(Debug, Clone)]
pub struct Leaf {
    /// The kind of thing it waits for.
    pub kind: WaitKind,
    /// As [`WaitKind`] says, in full.
    pub detail: u64,
    /// It registered the waker of the task itself, not one of a future in between.
    pub has_own_waker: bool,
    /// What it knows of the thing.
    pub details: LeafDetails,
    /// Where it was polled.
    pub stack: Stack,
}

/// The limit on leaves of one poll. Bounds the time of a collected poll: a stack takes
/// microseconds.
const LEAVES_MAX: usize = 64;

struct Collector {
    waker: (*const (), &'static RawWakerVTable),
    leaves: Vec<Leaf>,
    is_truncated: bool,
}

/// The leaves of one collected poll.
#[derive(Debug, Clone, Default)]
pub struct Leaves {
    /// Those that returned `Pending`, in the order of their polls.
    pub leaves: Vec<Leaf>,
    /// There were more than fit.
    pub is_truncated: bool,
}

/// The answers of asked tasks that were not taken yet, with the tasks' ids.
static ANSWERS: Mutex<Vec<(u64, Leaves)>> = Mutex::new(Vec::new());

/// Leaves the answer of an asked task for the thread that asks.
pub fn answer(id: u64, leaves: Leaves) {
    // Without an asking thread, no thread would take it.
    if ASKING.load(Relaxed) != 0 {
        ANSWERS.lock().unwrap_or_else(PoisonError::into_inner).push((id, leaves));
    }
}

/// Returns the answers that have come since the last call.
pub fn take_answers() -> Vec<(u64, Leaves)> {
    std::mem::take(&mut *ANSWERS.lock().unwrap_or_else(PoisonError::into_inner))
}

crate::per_thread! {
    static COLLECTOR: Cell<*mut Collector> = const { Cell::new(ptr::null_mut()) };
}

/// Runs `poll`, which polls the future of the thread's current slot with `waker`, and returns the
/// leaves that returned `Pending` in it.
pub fn collect<R>(waker: &Waker, poll: impl FnOnce() -> R) -> (R, Leaves) {
    struct Restore(*mut Collector);

    impl Drop for Restore {
        fn drop(&mut self) {
            COLLECTOR.with(|collector| collector.set(self.0));
        }
    }

    let mut collector = Collector {
        waker: (waker.data(), waker.vtable()),
        leaves: Vec::new(),
        is_truncated: false,
    };
    let restore = Restore(COLLECTOR.with(|before| before.replace(&raw mut collector)));
    let marked = CURRENT.with(Cell::get).map_addr(|addr| addr | COLLECTED);
    // The slot stays the same, so it is valid until the guard is dropped.
    let current = CurrentSlot { before: CURRENT.with(|current| current.replace(marked)) };
    let result = poll();
    drop(current);
    drop(restore);
    (result, Leaves { leaves: collector.leaves, is_truncated: collector.is_truncated })
}

/// The part of [`note_with`] for a poll that is collected, or for code that takes no notes.
#[cold]
#[inline(never)]
fn add_leaf(kind: WaitKind, detail: u64, waker: &Waker, describe: impl FnOnce() -> LeafDetails) {
    let current = CURRENT.with(Cell::get);
    if current.addr() & NO_NOTES != 0 {
        return;
    }
    // SAFETY: as in `with_current`; a slot that takes notes is not null.
    unsafe { &*current.map_addr(|addr| addr & !MARKS) }.set(pack(kind, detail));
    let collector = COLLECTOR.with(Cell::get);
    // SAFETY: the current slot is marked, so `collect` is running on this thread. `COLLECTOR`
    // points to the collector of the innermost one, which is that of the current slot: a slot that
    // was entered since is not marked. It is not used otherwise while `poll` runs. The reference
    // ends before `describe` and the unwinder are called.
    let Some(wanted) = (unsafe { collector.as_ref() }) else { return };
    let (data, vtable) = wanted.waker;
    let has_own_waker = waker.data() == data && ptr::eq(waker.vtable(), vtable);
    let is_full = wanted.leaves.len() >= LEAVES_MAX;
    let leaf = (!is_full).then(|| Leaf {
        kind,
        detail,
        has_own_waker,
        details: describe(),
        stack: Stack::capture(),
    });
    // SAFETY: as above.
    let collector = unsafe { &mut *collector };
    match leaf {
        Some(leaf) => collector.leaves.push(leaf),
        None => collector.is_truncated = true,
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
