//! The part of a task that is the same for all types of futures.

use crate::id::Id;
use crate::record::{Origin, TaskFigures};
use crate::recording;
use crate::state::{Outcome, Phase, TaskState};
use std::fmt;
use std::mem::offset_of;
use std::panic::Location;
use std::ptr::NonNull;
use std::task::Context;
use std::time::Duration;
use wakeful_base::list::{Link, Links};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::AtomicPtr;
use wakeful_base::waiting::WaitSlot;

/// The operations of a task that depend on the type of its future.
pub(crate) struct Vtable {
    /// Polls the future. If it is ready, drops it and stores the output.
    pub poll: unsafe fn(TaskRef, &mut Context<'_>) -> PollResult,
    /// Drops the future. A panic in its destructor becomes the task's outcome.
    pub cancel: unsafe fn(TaskRef) -> Outcome,
    /// Drops the output, whatever the outcome.
    pub drop_output: unsafe fn(TaskRef),
    /// Moves the output to the `Option<Result<T, JoinError>>` behind the pointer.
    pub take_output: unsafe fn(TaskRef, *mut ()),
    /// Passes the queue entry to the home.
    pub schedule: unsafe fn(TaskRef),
    /// Frees the cell, whose future and output are gone.
    pub free: unsafe fn(TaskRef),
    /// [`Schedule::CALLS_WAKERS`](crate::Schedule::CALLS_WAKERS) of the home.
    pub calls_wakers: bool,
    /// Returns the name of the future's type.
    pub type_name: fn() -> &'static str,
}

/// The result of one poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PollResult {
    Pending,
    Ready(Outcome),
}

/// The first part of every task.
///
/// The fields that the poll and the end of a task write come last, beside the future. So a worker
/// that has stolen a task gets most of what it writes with one cache line, when it starts the poll.
#[repr(C)]
pub struct Header {
    owned: Links<Header>,
    pub(crate) origin: Origin,
    pub(crate) home: UnsafeCell<NonNull<()>>,
    pub(crate) vtable: &'static Vtable,
    /// The task's id, and a word: while the task is scheduled, the next entry of an intrusive
    /// queue. Otherwise, what the task waits for.
    pub(crate) slot: WaitSlot,
    /// The waker of the join handle, as `join_slot.rs` packs it.
    pub(crate) join_waker: UnsafeCell<Option<NonNull<()>>>,
    pub(crate) state: TaskState,
}

// Loom adds the state of its checks to each field.
#[cfg(all(target_pointer_width = "64", not(wakeful_loom)))]
const _: () = assert!(size_of::<Header>() == 72, "each task pays for every byte of its header");

impl Header {
    pub(crate) fn new(
        vtable: &'static Vtable,
        home: NonNull<()>,
        id: Id,
        spawned_at: &'static Location<'static>,
    ) -> Header {
        Header {
            owned: Links::new(),
            origin: Origin::new(spawned_at),
            home: UnsafeCell::new(home),
            vtable,
            slot: WaitSlot::new(id.as_u64()),
            join_waker: UnsafeCell::new(None),
            state: TaskState::new(),
        }
    }

    /// Checks what must hold when the cell is freed.
    pub(crate) fn assert_at_end(&mut self) {
        self.state.assert_at_end();
        // SAFETY: `&mut self` gives exclusive access.
        let empty = self.join_waker.with_mut(|slot| unsafe { (*slot).is_none() });
        debug_assert!(empty, "the last owner of the waker slot has emptied it");
    }

    /// Returns the task's id.
    pub fn id(&self) -> Id {
        Id::from_u64(self.slot.id()).expect("ids are not zero")
    }

    /// Returns where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.origin.location()
    }

    /// Makes the task keep the time at which it is scheduled.
    #[cold]
    pub fn keep_times(&self) {
        self.origin.keep_times();
    }

    /// Notes when the task is scheduled, on a clock of the caller's choice, if it
    /// [keeps](Self::keep_times) that.
    ///
    /// Only the holder of the task's queue entry may do so.
    pub fn note_scheduled(&self, now_ns: u64) {
        self.origin.note_scheduled(now_ns);
    }

    /// Returns when the task was scheduled last, if it [keeps](Self::keep_times) that.
    pub fn scheduled_at_ns(&self) -> Option<u64> {
        self.origin.scheduled_at_ns()
    }

    /// Returns the task's name, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.origin.name()
    }

    /// Returns what is recorded of the task, if it has been polled or spawned since recording
    /// began. `now` is the time in [`ticks`](wakeful_base::ticks).
    pub fn figures(&self, now: u64) -> Option<TaskFigures> {
        self.origin.record()?.read(recording::epoch()?, now)
    }

    /// Returns how long ago the task was spawned. `None` if it was not recorded then.
    pub fn age(&self, now: u64) -> Option<Duration> {
        self.origin.record()?.age(now)
    }

    /// Returns the name of the future's type.
    pub fn type_name(&self) -> &'static str {
        (self.vtable.type_name)()
    }

    /// Returns the slot that says what the task waits for.
    pub fn slot(&self) -> &WaitSlot {
        &self.slot
    }

    /// Returns where the task is. It may be elsewhere at any moment.
    pub fn phase(&self) -> Phase {
        self.state.phase()
    }

    /// Returns the number of references besides the scheduler's and the join handle's: those of
    /// wakers, of abort handles, and [`Retained`](crate::Retained) ones.
    pub fn other_refs(&self) -> usize {
        self.state.other_refs()
    }

    /// Returns whether there is a join handle. It may be dropped at any moment.
    pub fn has_join_handle(&self) -> bool {
        self.state.has_join_interest()
    }

    /// Returns the link to the next entry of an intrusive queue.
    ///
    /// Only the queue that holds the entry may use it.
    pub fn queue_next(&self) -> &AtomicPtr<Header> {
        let link: *const AtomicPtr<()> = self.slot.word();
        // SAFETY: `AtomicPtr<T>` has the same layout for each sized `T`, and all values of the word
        // are valid for it: they are only dereferenced by the queue that stored them.
        unsafe { &*link.cast::<AtomicPtr<Header>>() }
    }
}

/// What the header of a task said when it was copied, which may have been freed then.
pub struct HeaderCopy {
    id: u64,
    /// The address of the location.
    site: usize,
}

impl Header {
    /// Copies the header of a task that may be freed at any moment. The kernel makes the copy, so
    /// that it fails where there is no memory any more. `None` if it does, or if the platform does
    /// not offer this.
    ///
    /// The caller has to find out afterwards whether the task was alive all the time.
    pub fn copy_of(task: TaskRef) -> Option<HeaderCopy> {
        let header = task.as_ptr().expose_provenance();
        let word = |address| Some(usize::from_ne_bytes(read_own_memory(address)?));
        let origin = word(header + offset_of!(Header, origin))?;
        Some(HeaderCopy {
            id: u64::from_ne_bytes(read_own_memory(
                header + offset_of!(Header, slot) + WaitSlot::ID_OFFSET,
            )?),
            site: Origin::location_addr(origin, word)?,
        })
    }
}

#[cfg(target_os = "linux")]
fn read_own_memory<const LEN: usize>(address: usize) -> Option<[u8; LEN]> {
    use std::os::unix::fs::FileExt;

    let mut copy = [0; LEN];
    let memory = std::fs::File::open("/proc/self/mem").ok()?;
    memory.read_exact_at(&mut copy, address as u64).ok()?;
    Some(copy)
}

#[cfg(not(target_os = "linux"))]
fn read_own_memory<const LEN: usize>(_: usize) -> Option<[u8; LEN]> {
    None
}

impl HeaderCopy {
    /// Returns the task's id, and where it was spawned.
    ///
    /// # Safety
    /// The task must have been alive while the copy was made.
    pub unsafe fn id_and_site(&self) -> (u64, &'static Location<'static>) {
        // SAFETY: by contract this is the address of a `&'static Location`, which has no provenance
        // that it would not share with its static.
        (self.id, unsafe { &*std::ptr::with_exposed_provenance::<Location<'static>>(self.site) })
    }
}

impl fmt::Debug for HeaderCopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeaderCopy").finish_non_exhaustive()
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("id", &self.id())
            .field("spawned_at", &self.spawned_at())
            .finish()
    }
}

/// A pointer to a task. By itself it does not keep the task alive.
pub type TaskRef = NonNull<Header>;

/// Links a task into the list of tasks that its home owns.
#[derive(Debug)]
pub struct OwnedLink;

// SAFETY: the links are a field of the header that only the list accesses.
unsafe impl Link for OwnedLink {
    type Node = Header;

    unsafe fn links(node: TaskRef) -> NonNull<Links<Header>> {
        // SAFETY: the node is live by the trait's contract, so the address of its field is valid
        // and not null.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).owned) }
    }
}

/// Releases a reference, and frees the task if it was the last one.
///
/// # Safety
/// The caller must own a reference, which it gives up.
pub(crate) unsafe fn release(task: TaskRef) {
    // SAFETY: the reference keeps the task alive until it is released.
    let header = unsafe { task.as_ref() };
    let vtable = header.vtable;
    if header.state.release() {
        // SAFETY: no other reference is left.
        unsafe { (vtable.free)(task) };
    }
}
