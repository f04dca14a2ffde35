//! [`Waiter`]: a future's entry in the line.

use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWakerVTable, Waker};

use wakeful_base::list::{Link, Links};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicPtr, Ordering::*};

use super::Round;

/// A waiter's stage. The values are those that its [`PackedStage`] stores.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum WaiterStage {
    /// In no line. May enter one.
    Idle = 0,
    /// In a line. The only odd value, see [`PackedStage`].
    Queued = 1,
    /// Released alone, as the first in the line.
    First = 2,
    /// Released alone, as the last in the line.
    Last = 4,
    /// Released together with all other waiters of its round.
    All = 6,
    /// In no line for good: the owner has seen that the wait is over.
    Over = 8,
}

/// A future's entry in the line of a [`WaitQueue`](super::WaitQueue).
///
/// It lies inside the waiting future, so its size counts for each waiting task. Hence two of its
/// four words change their meaning with the stage:
///
/// ```text
///                         stage_data               packed_stage
///   IDLE, newly created   round of its creation    stage
///   QUEUED                waker's data             waker's vtable, if it has a waker, and stage
///   all others            unused                   stage
/// ```
///
/// The lock's holder writes both while QUEUED, the owner otherwise. A waiter has no waker unless it
/// is queued, and it is not queued when it is dropped. So it needs no `Drop`.
pub(crate) struct Waiter {
    links: Links<Waiter>,
    stage_data: UnsafeCell<StageData>,
    /// A [`PackedStage`].
    packed_stage: AtomicPtr<RawWakerVTable>,
    _pinned: PhantomPinned,
}

/// The part of a [`Waiter`] whose meaning depends on the stage.
#[derive(Clone, Copy)]
union StageData {
    round: Round,
    waker_data: *const (),
}

/// A waiter's stage, combined with the vtable of its waker while it is queued.
///
/// A vtable is aligned, so the lowest bit of its address is free to tell `Queued` from other
/// stages.
#[derive(Clone, Copy)]
struct PackedStage(*mut RawWakerVTable);

const _: () = assert!(align_of::<RawWakerVTable>() > WaiterStage::Queued as usize);

impl PackedStage {
    #[inline]
    fn unqueued(stage: WaiterStage) -> Self {
        debug_assert_ne!(stage, WaiterStage::Queued, "a queued waiter may have a waker");
        PackedStage(ptr::without_provenance_mut(stage as usize))
    }

    #[inline]
    fn queued(vtable: Option<&'static RawWakerVTable>) -> Self {
        let vtable = vtable.map_or(ptr::null(), ptr::from_ref);
        PackedStage(vtable.cast_mut().map_addr(|address| address | WaiterStage::Queued as usize))
    }

    #[inline]
    fn stage(self) -> WaiterStage {
        match self.0.addr() {
            queued if queued & WaiterStage::Queued as usize != 0 => WaiterStage::Queued,
            0 => WaiterStage::Idle,
            2 => WaiterStage::First,
            4 => WaiterStage::Last,
            6 => WaiterStage::All,
            // No `unreachable!()`: without a branch that panics, a check for one stage compiles to
            // a single comparison.
            over => {
                debug_assert_eq!(over, WaiterStage::Over as usize, "not a value of `WaiterStage`");
                WaiterStage::Over
            }
        }
    }

    /// Returns the vtable of a queued waiter's waker, if it has a waker.
    #[inline]
    fn vtable(self) -> Option<&'static RawWakerVTable> {
        debug_assert_eq!(self.stage(), WaiterStage::Queued, "only a queued waiter has a waker");
        let vtable = self.0.map_addr(|address| address & !(WaiterStage::Queued as usize));
        // SAFETY: made by `queued`, from null or a `&'static` reference.
        unsafe { vtable.as_ref() }
    }
}

// SAFETY: all fields but the atomic one are accessed by the lock's holder while the waiter is
// queued and by its owner otherwise. A waker's data may move to another thread, since `Waker` is
// `Send`.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    /// Creates an idle waiter for users that do not ask for its round.
    #[inline]
    pub(crate) fn new() -> Self {
        Waiter::since(Round::FIRST)
    }

    /// Creates an idle waiter that remembers `round`.
    #[inline]
    pub(crate) fn since(round: Round) -> Self {
        Waiter {
            links: Links::new(),
            stage_data: UnsafeCell::new(StageData { round }),
            packed_stage: AtomicPtr::new(PackedStage::unqueued(WaiterStage::Idle).0),
            _pinned: PhantomPinned,
        }
    }

    /// Returns the stage. If the waiter was released, writes before the release are visible
    /// afterwards.
    #[inline]
    pub(crate) fn stage(&self) -> WaiterStage {
        PackedStage(self.packed_stage.load(Acquire)).stage()
    }

    /// Returns the round that the waiter was created with.
    ///
    /// # Safety
    /// Only its owner may call this, before the waiter has entered a line.
    #[inline]
    pub(crate) unsafe fn made_in(&self) -> Round {
        debug_assert_eq!(
            self.stage(),
            WaiterStage::Idle,
            "a waiter forgets its round when it enters"
        );
        // SAFETY: by contract the caller is the owner, and `stage_data` holds the round until the
        // waiter enters a line.
        self.stage_data.with(|stage_data| unsafe { (*stage_data).round })
    }

    /// Makes a released waiter idle, so that it can enter again.
    ///
    /// # Safety
    /// Only its owner may call this, and the waiter must be in no line.
    #[inline]
    pub(crate) unsafe fn reset(&self) {
        // SAFETY: by contract.
        unsafe { self.set_unqueued(WaiterStage::Idle) };
    }

    /// Marks a waiter as over, for good.
    ///
    /// # Safety
    /// Only its owner may call this, and the waiter must be in no line.
    #[inline]
    pub(crate) unsafe fn finish(&self) {
        // SAFETY: by contract.
        unsafe { self.set_unqueued(WaiterStage::Over) };
    }

    /// Stores a stage without a waker.
    ///
    /// # Safety
    /// Only its owner may call this, and the waiter must be in no line: one in line would keep its
    /// links when it is dropped, and would lose its waker.
    #[inline]
    unsafe fn set_unqueued(&self, stage: WaiterStage) {
        debug_assert_ne!(self.stage(), WaiterStage::Queued, "a waiter in line belongs to the line");
        self.packed_stage.store(PackedStage::unqueued(stage).0, Relaxed);
    }

    /// Marks an idle waiter as queued, and stores its waker.
    ///
    /// # Safety
    /// Only its owner may call this, with the lock of the line that it is about to enter.
    #[inline]
    pub(super) unsafe fn mark_queued(&self, waker: Option<Waker>) {
        // SAFETY: an idle waiter belongs to its owner, the caller. It has no waker that could leak.
        unsafe { self.store_waker(waker) };
    }

    /// Marks a queued waiter as released, with `stage`, and returns its waker. Its owner may drop
    /// the waiter from then on.
    ///
    /// # Safety
    /// Only the holder of its line's lock may call this, while the waiter is queued.
    #[inline]
    pub(super) unsafe fn release(&self, stage: WaiterStage) -> Option<Waker> {
        // SAFETY: by contract the waiter is queued and belongs to the caller. Its waker is moved
        // out only once: the new stage is one without a waker.
        let waker = unsafe { self.peek_waker() }.map(ManuallyDrop::into_inner);
        self.packed_stage.store(PackedStage::unqueued(stage).0, Release);
        waker
    }

    /// Does the work of [`LockedLine::set_waker`](super::LockedLine::set_waker).
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    pub(super) unsafe fn set_waker(
        &self,
        waker: &Waker,
        fresh: &mut Option<Waker>,
    ) -> Option<Option<Waker>> {
        // SAFETY: by contract the waiter is queued, and the caller holds the lock.
        let current = unsafe { self.peek_waker() };
        if current.as_ref().is_some_and(|current| current.will_wake(waker)) {
            return Some(None);
        }
        let fresh = fresh.take()?;
        // SAFETY: as above. The previous waker is in `current`, which we return.
        unsafe { self.store_waker(Some(fresh)) };
        Some(current.map(ManuallyDrop::into_inner))
    }

    /// Returns a queued waiter's waker, without taking it out.
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    #[inline]
    unsafe fn peek_waker(&self) -> Option<ManuallyDrop<Waker>> {
        // Relaxed is enough: what was written under the lock is visible to the lock's holder.
        let vtable = PackedStage(self.packed_stage.load(Relaxed)).vtable()?;
        // SAFETY: by contract the waiter is queued and belongs to the caller. With a vtable there
        // is data, since `store_waker` writes both.
        let data = self.stage_data.with(|stage_data| unsafe { (*stage_data).waker_data });
        // SAFETY: `store_waker` took data and vtable from one waker and did not drop it. The result
        // does not drop it either.
        Some(ManuallyDrop::new(unsafe { Waker::new(data, vtable) }))
    }

    /// Makes the waiter queued, with this waker. Does not drop the one it had.
    ///
    /// # Safety
    /// The waiter must belong to the caller.
    #[inline]
    unsafe fn store_waker(&self, waker: Option<Waker>) {
        let waker = waker.map(ManuallyDrop::new);
        if let Some(waker) = &waker {
            // SAFETY: by contract no other thread accesses `stage_data`.
            self.stage_data
                .with_mut(|stage_data| unsafe { (*stage_data).waker_data = waker.data() });
        }
        let vtable = waker.map(|waker| waker.vtable());
        self.packed_stage.store(PackedStage::queued(vtable).0, Relaxed);
    }
}

/// Tells [`List`](wakeful_base::list::List) where a waiter's links are.
pub(super) struct WaiterLink;

// SAFETY: `links` always returns the same field of the waiter, and only the list writes to it.
unsafe impl Link for WaiterLink {
    type Node = Waiter;

    unsafe fn links(node: NonNull<Waiter>) -> NonNull<Links<Waiter>> {
        // SAFETY: the node is live (the trait's contract), so its field is in bounds.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}
