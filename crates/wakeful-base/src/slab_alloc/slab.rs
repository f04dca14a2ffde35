//! A slab: room for some dozens of pieces of one size.
//!
//! Who owns a slab hands out its slots, those with the lowest addresses first, and takes them back without an
//! atomic operation. Others give a slot back by setting its bit in `returned`, and do not touch the slab after
//! that: it may be gone. A slab without a free slot is of no use to its owner, who lets go of it. From then on
//! it is nobody's, until enough slots came back to be worth somebody's while:
//!
//! ```text
//!            no slot is free, or too few           `enough` slots came back
//!    owned ──────────────────▶ loose (LOOSE is set) ────────────────────────▶ owned
//!      ▲ │                                                 by whoever brought the last of them
//!      │ ▼
//!     in a depot, behind its lock
//! ```
//!
//! Exactly one becomes the owner: each return sets one bit, so that one of them finds `LOOSE` and brings the
//! number to `enough`. Who lets go sets `LOOSE` and learns in the same step how many there were before: if they
//! were `enough` already nobody comes for the slab, and he keeps it.
//!
//! # Who may touch which field
//!
//! | field | who, when |
//! |---|---|
//! | `owned` | the owner: a thread, or the holder of a depot's lock; nobody while the slab is loose |
//! | `returned` | everybody who has one of the slab's slots, until he gives it back; the owner |
//! | `owner` | written by the owner; read by everybody who has one of the slab's slots |
//!
//! What the last owner did to `owned` and what others did to their slots is seen by the next, since all of them
//! change `returned` in one row of read-modify-writes that acquire and release.

use super::Shape;
use crate::sync::UnsafeCell;
use crate::sync::atomic::{AtomicPtr, AtomicU64, Ordering::*};
use std::mem::take;
use std::ptr::{self, NonNull};

/// The slots of the largest slab: a bit each, and one for [`LOOSE`].
pub(super) const SLOTS_MAX: usize = 63;

/// Nobody owns the slab. Who brings the number of returned slots to `enough` does from then on.
const LOOSE: u64 = 1 << SLOTS_MAX;

/// What the owner writes and what others write are on different cache lines, wherever the slab begins.
const APART: usize = 64 - size_of::<Owned>();

/// Its head; the slots lie behind it.
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
    /// The next slab in whichever list of its owner's it is in.
    next: *mut Slab,
}

/// Who owns a slab: a thread, by the address of something that is its own.
pub(super) type Owner = *mut ();

const NO_OWNER: Owner = ptr::null_mut();

/// What became of a slab when a slot was given back.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Returned {
    /// Nothing that would concern us. The slab may be gone.
    InUse,
    /// It was loose, and is ours now.
    Ours,
    /// All its slots came back. If it is in a depot it may be freed, there and not by us. It may be gone.
    AllFree,
}

impl Slab {
    /// A slab all of whose slots are free.
    pub(super) fn new(shape: Shape, owner: Owner) -> Slab {
        Slab {
            owned: UnsafeCell::new(Owned { free: shape.all_slots(), next: ptr::null_mut() }),
            _apart: [0; APART],
            returned: AtomicU64::new(0),
            owner: AtomicPtr::new(owner),
        }
    }

    /// Whether `owner`, the caller, owns it. Nobody else can tell.
    #[inline]
    pub(super) fn is_owned_by(&self, owner: Owner) -> bool {
        // Only `owner` itself ever writes that, and writes something else before the slab is somebody else's.
        self.owner.load(Relaxed) == owner
    }

    /// Hands out the first free slot.
    ///
    /// # Safety
    /// The caller owns the slab.
    #[inline]
    pub(super) unsafe fn take(&self) -> Option<u32> {
        self.owned.with_mut(|owned| {
            // SAFETY: the owner's alone.
            let free = unsafe { &mut (*owned).free };
            let slot = (*free != 0).then(|| free.trailing_zeros());
            *free &= free.wrapping_sub(1);
            slot
        })
    }

    /// Takes a slot back.
    ///
    /// # Safety
    /// The caller owns the slab, and `slot` was handed out and is not used any more.
    #[inline]
    pub(super) unsafe fn put(&self, slot: u32) {
        self.owned.with_mut(|owned| {
            // SAFETY: the owner's alone.
            let free = unsafe { &mut (*owned).free };
            debug_assert!(*free & (1 << slot) == 0, "the memory was freed twice");
            *free |= 1 << slot;
        });
    }

    /// Gives a slot back to a slab that is not the caller's.
    ///
    /// # Safety
    /// `slab` must be one of which `slot` was handed out and is not used any more.
    pub(super) unsafe fn return_slot(
        slab: NonNull<Slab>,
        slot: u32,
        shape: Shape,
        me: Owner,
    ) -> Returned {
        // SAFETY: a slab stays as long as one of its slots is handed out.
        let before = unsafe { (*slab.as_ptr()).returned.fetch_or(1 << slot, AcqRel) };
        debug_assert!(before & (1 << slot) == 0, "the memory was freed twice");
        let after = before | (1 << slot);
        if after == shape.all_slots() {
            return Returned::AllFree;
        } else if after & LOOSE == 0 || (after & !LOOSE).count_ones() != shape.enough() {
            return Returned::InUse;
        }
        // SAFETY: nobody else makes a loose slab his own but who brings the number to `enough`, which only grows.
        unsafe { slab.as_ref().take_ownership(me) };
        Returned::Ours
    }

    /// Gives up a slab in which fewer than `enough` slots are free. False if there are more: it is the caller's still.
    ///
    /// # Safety
    /// The caller, `me`, owns the slab, which is in no list. If this returns true it may be gone.
    pub(super) unsafe fn release(slab: NonNull<Slab>, shape: Shape, me: Owner) -> bool {
        // SAFETY: ours until `LOOSE` is set.
        let Slab { owned, returned, owner, .. } = unsafe { slab.as_ref() };
        // SAFETY: as above.
        let free = owned.with_mut(|owned| take(unsafe { &mut (*owned).free }));
        owner.store(NO_OWNER, Relaxed);
        let before = returned.fetch_or(LOOSE | free, AcqRel);
        if (before | free).count_ones() < shape.enough() {
            return true;
        }
        // SAFETY: so many came before it was loose that nobody takes it.
        unsafe { slab.as_ref().take_ownership(me) };
        false
    }

    /// Makes a slab the caller's, and what came back to it free.
    ///
    /// # Safety
    /// The slab is the caller's by what it knows: out of a depot, or loose and nobody else's turn.
    pub(super) unsafe fn take_ownership(&self, me: Owner) {
        self.owner.store(me, Relaxed);
        let returned = self.returned.swap(0, AcqRel) & !LOOSE;
        self.owned.with_mut(|owned| {
            // SAFETY: the owner's alone.
            unsafe { (*owned).free |= returned }
        });
    }

    /// It goes to a depot. What is free counts among what came back, so that who brings the last can tell.
    ///
    /// # Safety
    /// The caller owns the slab, and passes it on.
    pub(super) unsafe fn disown(&self) {
        self.owner.store(NO_OWNER, Relaxed);
        // SAFETY: the owner's alone.
        let free = self.owned.with_mut(|owned| take(unsafe { &mut (*owned).free }));
        self.returned.fetch_or(free, AcqRel);
    }

    /// Whether none of its slots is in use: it may be freed.
    ///
    /// # Safety
    /// The caller owns the slab, or holds the lock of the depot it is in.
    pub(super) unsafe fn is_all_free(&self, shape: Shape) -> bool {
        // SAFETY: the owner's alone.
        let free = self.owned.with(|owned| unsafe { (*owned).free });
        // Acquire: who gave a slot back is done with it.
        free | self.returned.load(Acquire) == shape.all_slots()
    }

    /// The next in a list of the owner's.
    ///
    /// # Safety
    /// As of [`is_whole`](Self::is_whole).
    pub(super) unsafe fn next(&self) -> *mut Slab {
        // SAFETY: the owner's alone.
        self.owned.with(|owned| unsafe { (*owned).next })
    }

    /// # Safety
    /// As of [`is_whole`](Self::is_whole).
    pub(super) unsafe fn set_next(&self, next: *mut Slab) {
        // SAFETY: the owner's alone.
        self.owned.with_mut(|owned| unsafe { (*owned).next = next });
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "slab/tests/loom.rs"]
mod loom;
