//! The part of a task that is the same for every future.

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

/// What a task does that depends on its future's type.
pub(crate) struct Vtable {
    /// Polls the future. Once it is ready, drops it and stores the output.
    pub poll: unsafe fn(TaskRef, &mut Context<'_>) -> PollResult,
    /// Drops the future; a panic on the way becomes the output.
    pub cancel: unsafe fn(TaskRef) -> Outcome,
    /// Drops the output, whatever the outcome.
    pub drop_output: unsafe fn(TaskRef),
    /// Moves the output to `Option<Result<T, JoinError>>` behind the pointer.
    pub take_output: unsafe fn(TaskRef, *mut ()),
    /// Hands the entry to the home.
    pub schedule: unsafe fn(TaskRef),
    /// Frees the cell, whose future and output are gone.
    pub free: unsafe fn(TaskRef),
    /// [`Schedule::CALLS_WAKERS`](crate::Schedule::CALLS_WAKERS) of the home.
    pub calls_wakers: bool,
}

/// What one poll led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PollResult {
    Pending,
    Ready(Outcome),
}

/// The first part of every task.
pub struct Header {
    pub(crate) state: TaskState,
    pub(crate) vtable: &'static Vtable,
    /// While scheduled: next entry of an intrusive queue. Else: what the task waits for.
    link: AtomicPtr<Header>,
    owned: Links<Header>,
    pub(crate) home: UnsafeCell<NonNull<()>>,
    id: Id,
    spawned_at: &'static Location<'static>,
    /// The waker of who joins, as `join_slot.rs` packs it.
    pub(crate) join_waker: UnsafeCell<Option<NonNull<()>>>,
}

// A loom build keeps the state of its checks in each field.
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
            state: TaskState::new(),
            vtable,
            link: AtomicPtr::new(std::ptr::null_mut()),
            owned: Links::new(),
            home: UnsafeCell::new(home),
            id,
            spawned_at,
            join_waker: UnsafeCell::new(None),
        }
    }

    /// Checks what must hold when the cell is freed.
    pub(crate) fn assert_at_end(&mut self) {
        self.state.assert_at_end();
        // SAFETY: the exclusive borrow.
        let empty = self.join_waker.with_mut(|slot| unsafe { (*slot).is_none() });
        debug_assert!(empty, "the last owner of the waker slot has emptied it");
    }

    /// The task's id.
    pub fn id(&self) -> Id {
        self.id
    }

    /// Where the task was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// What the task said it waits for when it last returned `Pending`; none if it waits for its turn.
    pub fn waits_for(&self) -> Option<WaitsFor> {
        WaitsFor::from_word(self.link.load(Relaxed).addr())
    }

    pub(crate) fn set_waits_for(&self, what: WaitsFor) {
        self.link.store(std::ptr::without_provenance_mut(what.word()), Relaxed);
    }

    /// The entry behind this one in an intrusive queue.
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

/// A pointer to a task, by itself without any claim on it.
pub type TaskRef = NonNull<Header>;

/// Links a task into the list of those its home owns.
#[derive(Debug)]
pub struct OwnedLink;

// SAFETY: the links are a field of the header that nothing else touches.
unsafe impl Link for OwnedLink {
    type Node = Header;

    unsafe fn links(node: TaskRef) -> NonNull<Links<Header>> {
        // SAFETY: the node is live by the trait's contract, and a field of it is not null.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).owned) }
    }
}

/// # Safety
/// The caller gives up a reference of its own.
pub(crate) unsafe fn release(task: TaskRef) {
    // SAFETY: the reference keeps the task alive up to here.
    let header = unsafe { task.as_ref() };
    let vtable = header.vtable;
    if header.state.release() {
        // SAFETY: it was the last.
        unsafe { (vtable.free)(task) };
    }
}
