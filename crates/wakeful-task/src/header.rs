//! The part of a task that is the same for all types of futures.

use crate::id::Id;
use crate::state::{Outcome, TaskState};
use crate::wait::WaitsFor;
use std::fmt;
use std::panic::Location;
use std::ptr::NonNull;
use std::task::Context;
use wakeful_base::list::{Link, Links};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicPtr, Ordering::*};

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
    id: Id,
    spawned_at: &'static Location<'static>,
    pub(crate) home: UnsafeCell<NonNull<()>>,
    pub(crate) vtable: &'static Vtable,
    /// While the task is scheduled: the next entry of an intrusive queue. Otherwise: what the task
    /// waits for.
    link: AtomicPtr<Header>,
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
            id,
            spawned_at,
            home: UnsafeCell::new(home),
            vtable,
            link: AtomicPtr::new(std::ptr::null_mut()),
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
        self.id
    }

    /// Returns where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// Returns what the task said it waits for when it last returned `Pending`.
    ///
    /// `None` while the task is in a queue.
    pub fn waits_for(&self) -> Option<WaitsFor> {
        WaitsFor::from_word(self.link.load(Relaxed).addr())
    }

    pub(crate) fn set_waits_for(&self, what: WaitsFor) {
        self.link.store(std::ptr::without_provenance_mut(what.word()), Relaxed);
    }

    /// Returns the link to the next entry of an intrusive queue.
    ///
    /// Only the queue that holds the entry may use it.
    pub fn queue_next(&self) -> &AtomicPtr<Header> {
        &self.link
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", &self.id).field("spawned_at", &self.spawned_at).finish()
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
