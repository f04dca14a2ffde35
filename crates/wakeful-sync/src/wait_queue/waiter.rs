//! One future's place in a line.

use std::marker::PhantomPinned;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWakerVTable, Waker};

use wakeful_base::list::{Link, Links};
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicPtr, Ordering::*};

use super::Round;

/// Where a waiter stands. The numbers are what its [`Place`] is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub(crate) enum Stage {
    /// In no line.
    Idle = 0,
    /// In line. The only odd number.
    Queued = 1,
    /// Released alone, as the first in line.
    First = 2,
    /// Released alone, as the last in line.
    Last = 4,
    /// Released with all others of its round.
    All = 6,
    /// In no line, and not to enter one again: its owner has seen that the wait is over.
    Over = 8,
}

/// One future's place in a line; lies inside that future, so every byte of it is paid for by each task
/// that waits. Hence two of its four words have a use for each stage:
///
/// ```text
///                         aside                    place
///   IDLE, made anew       round it was made in     stage
///   QUEUED                waker's data             waker's vtable, if there is a waker, and stage
///   all others            nothing                  stage
/// ```
///
/// Both are written by the lock's holder while QUEUED, otherwise by the owner. Nothing is left to drop with
/// the waiter, for by then it is in no line; so the owner's drop need not look.
pub(crate) struct Waiter {
    links: Links<Waiter>,
    aside: UnsafeCell<Aside>,
    /// A [`Place`].
    place: AtomicPtr<RawWakerVTable>,
    _pinned: PhantomPinned,
}

/// See [`Waiter`].
#[derive(Clone, Copy)]
union Aside {
    round: Round,
    waker_data: *const (),
}

/// A waiter's stage, and the vtable of its waker beside it while it is queued: that is aligned, so the lowest
/// bit of its address is free to tell queued from the rest.
#[derive(Clone, Copy)]
struct Place(*mut RawWakerVTable);

const _: () = assert!(align_of::<RawWakerVTable>() > Stage::Queued as usize);

impl Place {
    #[inline]
    fn outside(stage: Stage) -> Self {
        debug_assert_ne!(stage, Stage::Queued, "a queued waiter may have a waker");
        Place(ptr::without_provenance_mut(stage as usize))
    }

    #[inline]
    fn queued(vtable: Option<&'static RawWakerVTable>) -> Self {
        let vtable = vtable.map_or(ptr::null(), ptr::from_ref);
        Place(vtable.cast_mut().map_addr(|address| address | Stage::Queued as usize))
    }

    #[inline]
    fn stage(self) -> Stage {
        match self.0.addr() {
            queued if queued & Stage::Queued as usize != 0 => Stage::Queued,
            0 => Stage::Idle,
            2 => Stage::First,
            4 => Stage::Last,
            6 => Stage::All,
            // Without a branch that panics, to ask for one stage is one comparison.
            over => {
                debug_assert_eq!(over, Stage::Over as usize, "stored from no `Stage`");
                Stage::Over
            }
        }
    }

    /// Of a queued waiter: what it was made with.
    #[inline]
    fn vtable(self) -> Option<&'static RawWakerVTable> {
        debug_assert_eq!(self.stage(), Stage::Queued, "only a queued waiter has a waker");
        let vtable = self.0.map_addr(|address| address & !(Stage::Queued as usize));
        // SAFETY: made by `queued` from a reference for ever, or from null.
        unsafe { vtable.as_ref() }
    }
}

// SAFETY: all fields but the atomic one are touched under the queue's lock or, outside a line, by the owner;
// a waker's data may go with it to any thread.
unsafe impl Send for Waiter {}
// SAFETY: as above.
unsafe impl Sync for Waiter {}

impl Waiter {
    /// An idle waiter, of no round in particular.
    #[inline]
    pub(crate) fn new() -> Self {
        Waiter::since(Round::FIRST)
    }

    /// An idle waiter that was made in `round`.
    #[inline]
    pub(crate) fn since(round: Round) -> Self {
        Waiter {
            links: Links::new(),
            aside: UnsafeCell::new(Aside { round }),
            place: AtomicPtr::new(Place::outside(Stage::Idle).0),
            _pinned: PhantomPinned,
        }
    }

    /// Where the waiter stands. If it was released, what its releaser did before is visible.
    #[inline]
    pub(crate) fn stage(&self) -> Stage {
        Place(self.place.load(Acquire)).stage()
    }

    /// The round in which the waiter was made.
    ///
    /// # Safety
    /// Only for its owner, and before it has been in a line.
    #[inline]
    pub(crate) unsafe fn made_in(&self) -> Round {
        debug_assert_eq!(self.stage(), Stage::Idle, "a waiter forgets its round when it enters");
        // SAFETY: the waiter is its owner's, the caller's, and has been idle since it was made.
        self.aside.with(|aside| unsafe { (*aside).round })
    }

    /// Makes a released waiter ready to enter again.
    ///
    /// Only its owner calls this.
    #[inline]
    pub(crate) fn reset(&self) {
        self.step_outside(Stage::Idle);
    }

    /// Makes a waiter that is in no line say for good that its wait is over.
    ///
    /// Only its owner calls this.
    #[inline]
    pub(crate) fn finish(&self) {
        self.step_outside(Stage::Over);
    }

    #[inline]
    fn step_outside(&self, stage: Stage) {
        debug_assert_ne!(self.stage(), Stage::Queued, "a waiter in line belongs to the line");
        self.place.store(Place::outside(stage).0, Relaxed);
    }

    /// Goes from idle to queued.
    ///
    /// # Safety
    /// Only its owner, under the lock of the line it is about to enter.
    #[inline]
    pub(super) unsafe fn park(&self, waker: Option<Waker>) {
        // SAFETY: an idle waiter belongs to its owner, the caller, and has no waker.
        unsafe { self.store_waker(waker) };
    }

    /// Goes from queued to `stage`. Its owner may drop it from here on.
    ///
    /// # Safety
    /// Only the holder of its line's lock, while it is queued.
    #[inline]
    pub(super) unsafe fn release(&self, stage: Stage) -> Option<Waker> {
        // SAFETY: the caller's promise. The waker is taken: the new stage is one without.
        let waker = unsafe { self.peek_waker() }.map(ManuallyDrop::into_inner);
        self.place.store(Place::outside(stage).0, Release);
        waker
    }

    /// See [`LockedLine::set_waker`](super::LockedLine::set_waker).
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    pub(super) unsafe fn set_waker(
        &self,
        waker: &Waker,
        fresh: &mut Option<Waker>,
    ) -> Option<Option<Waker>> {
        // SAFETY: passed on to the caller.
        let current = unsafe { self.peek_waker() };
        if current.as_ref().is_some_and(|current| current.will_wake(waker)) {
            return Some(None);
        }
        let fresh = fresh.take()?;
        // SAFETY: as above. The waker there was is taken.
        unsafe { self.store_waker(Some(fresh)) };
        Some(current.map(ManuallyDrop::into_inner))
    }

    /// The waker of a queued waiter, which still has it.
    ///
    /// # Safety
    /// As for [`release`](Self::release).
    #[inline]
    unsafe fn peek_waker(&self) -> Option<ManuallyDrop<Waker>> {
        // Relaxed: the lock's holder sees what was written under the lock.
        let vtable = Place(self.place.load(Relaxed)).vtable()?;
        // SAFETY: a queued waiter belongs to the lock's holder, the caller; with a vtable there is data.
        let data = self.aside.with(|aside| unsafe { (*aside).waker_data });
        // SAFETY: `store_waker` took both from one waker that it did not drop.
        Some(ManuallyDrop::new(unsafe { Waker::new(data, vtable) }))
    }

    /// Makes the waiter a queued one with this waker; one that it had is forgotten.
    ///
    /// # Safety
    /// Only for whom the waiter belongs to.
    #[inline]
    unsafe fn store_waker(&self, waker: Option<Waker>) {
        let waker = waker.map(ManuallyDrop::new);
        if let Some(waker) = &waker {
            // SAFETY: the caller's promise.
            self.aside.with_mut(|aside| unsafe { (*aside).waker_data = waker.data() });
        }
        let vtable = waker.map(|waker| waker.vtable());
        self.place.store(Place::queued(vtable).0, Relaxed);
    }
}

/// Finds a waiter's links.
pub(super) struct ByLinks;

// SAFETY: `links` is a field of the waiter; the list alone writes to it.
unsafe impl Link for ByLinks {
    type Node = Waiter;

    unsafe fn links(node: NonNull<Waiter>) -> NonNull<Links<Waiter>> {
        // SAFETY: the caller gives a live waiter, so its field is in bounds.
        unsafe { NonNull::new_unchecked(&raw mut (*node.as_ptr()).links) }
    }
}
