//! A slab: memory for some dozens of pieces of one size.
//!
//! The owner of a slab hands out its slots, lowest address first, and takes them back without an
//! atomic operation. Any other thread returns a slot by setting its bit in `returned`, and does not
//! touch the slab afterwards: it may have been freed. A slab without free slots is of no use to its
//! owner, which releases it. The slab is then **loose**, without an owner, until enough slots have
//! been returned to make it worth having:
//!
//! ```text
//!            no slot is free, or too few           `enough` slots came back
//!    owned ──────────────────▶ loose (LOOSE is set) ────────────────────────▶ owned
//!      ▲ │                                                  by the thread that brought the last
//!      │ ▼
//!     in a depot, behind its lock
//! ```
//!
//! Exactly one thread becomes the owner. Each return sets one bit, so exactly one of them finds
//! `LOOSE` set and brings the count to `enough`. The release sets `LOOSE` and learns in the same
//! atomic step how many slots had been returned before. If these are `enough` already, no returning
//! thread will take the slab, and the releasing thread keeps it.
//!
//! # Access to the fields
//!
//! | field | access |
//! |---|---|
//! | `owned` | the owner (a thread, or the holder of a depot's lock); no thread while loose |
//! | `returned` | any thread that holds a slot, until it returns the slot; the owner |
//! | `owner` | written by the owner, read by any thread that holds a slot |
//!
//! The next owner sees what the last owner did to `owned`, and what other threads did with their
//! slots: all of them change `returned` by read-modify-writes with acquire and release ordering,
//! which form one release sequence.

use super::Shape;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use std::mem::take;
use std::ptr::{self, NonNull};

/// The number of slots of the largest slab: one bit each, and one bit for [`LOOSE`].
pub(super) const SLOTS_MAX: usize = 63;

/// The slab has no owner. The thread that brings the number of returned slots to `enough` becomes
/// the owner.
const LOOSE: u64 = 1 << SLOTS_MAX;

/// Padding that keeps the owner's fields and the fields that other threads write on different cache
/// lines, wherever the slab begins.
const APART: usize = 64 - size_of::<Owned>();

/// The head of a slab. Its slots follow in memory.
#[repr(C)]
pub(super) struct Slab {
    owned: UnsafeCell<Owned>,
    _apart: [u8; APART],
    returned: AtomicU64,
    owner: AtomicPtr<()>,
}

struct Owned {
    /// The slots that can be handed out.
    free: u64,
    /// The next slab in the owner's list that this slab is in.
    next: *mut Slab,
}

/// The identity of a slab's owner: a thread, known by the address of its cache.
pub(super) type Owner = *mut ();

const NO_OWNER: Owner = ptr::null_mut();

/// What became of a slab when a slot was returned to it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// The caller has nothing to do. The slab may have been freed.
    InUse,
    /// It was loose, and the caller is its owner now.
    Ours,
    /// All its slots have been returned. If it is in a depot, the holder of the depot's lock may
    /// free it. It may have been freed already.
    AllFree,
}

impl Slab {
    /// Creates a slab with all slots free.
    pub(super) fn new(shape: Shape, owner: Owner) -> Slab {
        Slab {
            owned: UnsafeCell::new(Owned { free: shape.all_slots(), next: ptr::null_mut() }),
            _apart: [0; APART],
            returned: AtomicU64::new(0),
            owner: AtomicPtr::new(owner),
        }
    }

    /// Returns whether `owner`, the calling thread, owns the slab. The result means nothing for
    /// another thread.
    #[inline]
    pub(super) fn is_owned_by(&self, owner: Owner) -> bool {
        // Relaxed suffices: only the thread `owner` itself stores this value, and it stores another
        // value before the slab gets another owner.
        self.owner.load(Relaxed) == owner
    }

    /// Hands out the free slot with the lowest address.
    ///
    /// # Safety
    /// The caller must own the slab.
    #[inline]
    pub(super) unsafe fn take(&self) -> Option<u32> {
        self.owned.with_mut(|owned| {
            // SAFETY: only the owner accesses `owned`.
            let free = unsafe { &mut (*owned).free };
            let slot = (*free != 0).then(|| free.trailing_zeros());
            *free &= free.wrapping_sub(1);
            slot
        })
    }

    /// Takes a slot back.
    ///
    /// # Safety
    /// The caller must own the slab. `slot` must have been handed out and not be in use any more.
    #[inline]
    pub(super) unsafe fn put(&self, slot: u32) {
        self.owned.with_mut(|owned| {
            // SAFETY: only the owner accesses `owned`.
            let free = unsafe { &mut (*owned).free };
            debug_assert!(*free & (1 << slot) == 0, "the memory was freed twice");
            *free |= 1 << slot;
        });
    }

    /// Returns a slot to a slab that the caller does not own.
    ///
    /// # Safety
    /// `slot` must have been handed out by `slab` and not be in use any more.
    pub(super) unsafe fn return_slot(
        slab: NonNull<Slab>,
        slot: u32,
        shape: Shape,
        me: Owner,
    ) -> Returned {
        // SAFETY: a slab is not freed while one of its slots is handed out, as this one is until
        // this operation.
        let before = unsafe { (*slab.as_ptr()).returned.fetch_or(1 << slot, AcqRel) };
        debug_assert!(before & (1 << slot) == 0, "the memory was freed twice");
        let after = before | (1 << slot);
        if after == shape.all_slots() {
            return Returned::AllFree;
        } else if after & LOOSE == 0 || (after & !LOOSE).count_ones() != shape.enough() {
            return Returned::InUse;
        }
        // SAFETY: the count of returned slots only grows while the slab is loose. So exactly one
        // returning thread observes it reach `enough`, and only that thread takes ownership.
        unsafe { slab.as_ref().take_ownership(me) };
        Returned::Ours
    }

    /// Releases a slab in which fewer than `enough` slots are free. Returns false if `enough` or
    /// more are free, in which case the caller still owns the slab.
    ///
    /// # Safety
    /// The caller, `me`, must own the slab, which must be in no list. If this returns true, the
    /// slab may have been freed.
    pub(super) unsafe fn release(slab: NonNull<Slab>, shape: Shape, me: Owner) -> bool {
        // SAFETY: the caller owns the slab until `LOOSE` is set.
        let Slab { owned, returned, owner, .. } = unsafe { slab.as_ref() };
        // SAFETY: only the owner, the caller until `LOOSE` is set, accesses `owned`.
        let free = owned.with_mut(|owned| take(unsafe { &mut (*owned).free }));
        owner.store(NO_OWNER, Relaxed);
        let before = returned.fetch_or(LOOSE | free, AcqRel);
        if (before | free).count_ones() < shape.enough() {
            return true;
        }
        // SAFETY: `enough` or more slots had been returned when `LOOSE` was set, so no returning
        // thread observes the count reach `enough`, and the caller is still the only owner.
        unsafe { slab.as_ref().take_ownership(me) };
        false
    }

    /// Makes the caller the owner, and the returned slots free.
    ///
    /// # Safety
    /// The caller must be the only thread entitled to the slab: it owns the slab already, has taken
    /// it out of a depot, has brought a loose slab's count to `enough`, or has just failed to
    /// release it.
    pub(super) unsafe fn take_ownership(&self, me: Owner) {
        self.owner.store(me, Relaxed);
        let returned = self.returned.swap(0, AcqRel) & !LOOSE;
        self.owned.with_mut(|owned| {
            // SAFETY: only the owner, the caller, accesses `owned`.
            unsafe { (*owned).free |= returned }
        });
    }

    /// Gives up the slab, for a depot. Its free slots then count as returned, so that the thread
    /// that returns the last slot can tell.
    ///
    /// # Safety
    /// The caller must own the slab, and passes it on.
    pub(super) unsafe fn disown(&self) {
        self.owner.store(NO_OWNER, Relaxed);
        // SAFETY: only the owner accesses `owned`. The slab is still the caller's: it is passed on
        // afterwards.
        let free = self.owned.with_mut(|owned| take(unsafe { &mut (*owned).free }));
        self.returned.fetch_or(free, AcqRel);
    }

    /// Returns whether no slot is in use, so that the slab may be freed.
    ///
    /// # Safety
    /// The caller must own the slab, or hold the lock of the depot that it is in.
    pub(super) unsafe fn is_all_free(&self, shape: Shape) -> bool {
        // SAFETY: the caller has the owner's access to `owned`.
        let free = self.owned.with(|owned| unsafe { (*owned).free });
        // Acquire: the threads that returned the slots have finished using them.
        free | self.returned.load(Acquire) == shape.all_slots()
    }

    /// Returns the next slab in the owner's list.
    ///
    /// # Safety
    /// As for [`is_all_free`](Self::is_all_free).
    pub(super) unsafe fn next(&self) -> *mut Slab {
        // SAFETY: the caller has the owner's access to `owned`.
        self.owned.with(|owned| unsafe { (*owned).next })
    }

    /// Sets the next slab in the owner's list.
    ///
    /// # Safety
    /// As for [`is_all_free`](Self::is_all_free).
    pub(super) unsafe fn set_next(&self, next: *mut Slab) {
        // SAFETY: the caller has the owner's access to `owned`.
        self.owned.with_mut(|owned| unsafe { (*owned).next = next });
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "slab/tests/loom.rs"]
mod loom;
