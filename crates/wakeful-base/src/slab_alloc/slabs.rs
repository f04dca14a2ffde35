//! Slabs of one owner in a row, first in, first out.

use super::slab::Slab;
use super::{Shape, free_slab};
use std::ptr::{self, NonNull};

/// All of them are this list's owner's: the thread whose it is, or the holder of the depot's lock.
pub(super) struct Slabs {
    first: *mut Slab,
    last: *mut Slab,
    count: usize,
}

// SAFETY: the slabs are the list's alone, apart from what is made for sharing.
unsafe impl Send for Slabs {}

impl Slabs {
    pub(super) const EMPTY: Slabs =
        Slabs { first: ptr::null_mut(), last: ptr::null_mut(), count: 0 };

    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// # Safety
    /// `slab` must be the caller's to give, and in no list.
    pub(super) unsafe fn push(&mut self, slab: NonNull<Slab>) {
        // SAFETY: what is in the list is the list's, and so is `slab` now.
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

    /// Takes the first, if there are more than `keep`.
    pub(super) fn pop_beyond(&mut self, keep: usize) -> Option<NonNull<Slab>> {
        let slab = NonNull::new(self.first).filter(|_| self.count > keep)?;
        // SAFETY: what is in the list is the list's.
        self.first = unsafe { slab.as_ref().next() };
        if self.first.is_null() {
            self.last = ptr::null_mut();
        }
        self.count -= 1;
        Some(slab)
    }

    pub(super) fn append(&mut self, mut others: Slabs) {
        while let Some(slab) = others.pop() {
            // SAFETY: out of the other list.
            unsafe { self.push(slab) };
        }
    }

    /// Looks at the first of them, if there are more than `keep`. Those that nobody uses are returned, the others go to
    /// the end.
    pub(super) fn take_all_free(&mut self, keep: usize, scan: usize, shape: Shape) -> Slabs {
        let mut all_free = Slabs::EMPTY;
        for _ in 0..scan {
            let Some(slab) = self.pop_beyond(keep) else { break };
            // SAFETY: it is ours, and goes into one list.
            unsafe {
                let list =
                    if slab.as_ref().is_all_free(shape) { &mut all_free } else { &mut *self };
                list.push(slab);
            }
        }
        all_free
    }

    /// Gives them back to the allocator.
    ///
    /// # Safety
    /// They must be of this shape, and none of their slots in use.
    pub(super) unsafe fn free_all(mut self, shape: Shape) {
        while let Some(slab) = self.pop() {
            // SAFETY: ours; the rest by contract.
            unsafe { free_slab(slab, shape) };
        }
    }
}
