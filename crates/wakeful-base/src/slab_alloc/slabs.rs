//! A list of slabs that have the same owner, first in, first out.

use super::slab::Slab;
use super::{Shape, free_slab};
use std::ptr::{self, NonNull};

/// A list of slabs. All of them belong to the owner of the list: a thread, or the holder of the
/// depot's lock.
pub(super) struct Slabs {
    first: *mut Slab,
    last: *mut Slab,
    count: usize,
}

// SAFETY: the list has the only access to its slabs' `owned` fields. Other threads access only
// their atomics.
unsafe impl Send for Slabs {}

impl Slabs {
    pub(super) const EMPTY: Slabs =
        Slabs { first: ptr::null_mut(), last: ptr::null_mut(), count: 0 };

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Adds a slab at the end.
    ///
    /// # Safety
    /// The caller must own `slab`, which must be in no list.
    pub(super) unsafe fn push(&mut self, slab: NonNull<Slab>) {
        // SAFETY: this list owns the slabs in it, and by contract `slab` as well.
        unsafe {
            slab.as_ref().set_next(ptr::null_mut());
            match NonNull::new(self.last) {
                Some(last) => last.as_ref().set_next(slab.as_ptr()),
                None => self.first = slab.as_ptr(),
            }
        }
        self.last = slab.as_ptr();
        self.count += 1;
    }

    pub(super) fn pop(&mut self) -> Option<NonNull<Slab>> {
        self.pop_beyond(0)
    }

    /// Removes the first slab, if there are more than `keep`.
    pub(super) fn pop_beyond(&mut self, keep: usize) -> Option<NonNull<Slab>> {
        let slab = NonNull::new(self.first).filter(|_| self.count > keep)?;
        // SAFETY: this list owns the slabs in it.
        self.first = unsafe { slab.as_ref().next() };
        if self.first.is_null() {
            self.last = ptr::null_mut();
        }
        self.count -= 1;
        Some(slab)
    }

    pub(super) fn append(&mut self, mut others: Slabs) {
        while let Some(slab) = others.pop() {
            // SAFETY: the slab was taken out of the other list, and both have the same owner.
            unsafe { self.push(slab) };
        }
    }

    /// Scans the first `scan` slabs, as long as there are more than `keep`. Returns the all-free
    /// ones and moves the others to the end.
    pub(super) fn take_all_free(&mut self, keep: usize, scan: usize, shape: Shape) -> Slabs {
        let mut all_free = Slabs::EMPTY;
        for _ in 0..scan {
            let Some(slab) = self.pop_beyond(keep) else { break };
            // SAFETY: this list owns the slab, which has just been taken out and goes into one
            // list.
            unsafe {
                let list =
                    if slab.as_ref().is_all_free(shape) { &mut all_free } else { &mut *self };
                list.push(slab);
            }
        }
        all_free
    }

    /// Returns the slabs to the global allocator.
    ///
    /// # Safety
    /// They must have this shape and no slot in use.
    pub(super) unsafe fn free_all(mut self, shape: Shape) {
        while let Some(slab) = self.pop() {
            // SAFETY: this list owns the slab; the rest by contract.
            unsafe { free_slab(slab, shape) };
        }
    }
}
