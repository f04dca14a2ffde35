//! The permits that a guard holds.

use std::sync::Arc;

use wakeful_base::catch_panic::contain_panic;

use super::RwLock;
use crate::batch_semaphore::BatchSemaphore;
use crate::holder::HolderWord;

/// Permits of a borrowed lock, given back when dropped.
pub(super) struct HeldPermits<'a> {
    permits: &'a BatchSemaphore<HolderWord>,
    count: u32,
}

/// Permits of a lock, given back when dropped, with an `Arc` of the lock.
pub(super) struct OwnedHeldPermits<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    count: u32,
}

/// Gives all permits but one back.
///
/// This wakes readers. The panic of a waker is contained, or else the caller would lose its guard.
fn release_all_but_one(permits: &BatchSemaphore<HolderWord>, count: &mut u32) {
    let rest = std::mem::replace(count, 1) - 1;
    contain_panic(|| permits.release(rest as usize));
}

impl<'a> HeldPermits<'a> {
    /// Wraps permits that the caller has taken.
    #[inline]
    pub(super) fn new(permits: &'a BatchSemaphore<HolderWord>, count: u32) -> Self {
        HeldPermits { permits, count }
    }

    /// Gives all permits but one back, which turns write access into read access.
    pub(super) fn keep_one(&mut self) {
        release_all_but_one(self.permits, &mut self.count);
    }
}

impl Drop for HeldPermits<'_> {
    #[inline]
    fn drop(&mut self) {
        self.permits.release(self.count as usize);
    }
}

impl<T: ?Sized> OwnedHeldPermits<T> {
    /// Wraps permits that the caller has taken.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>, count: u32) -> Self {
        OwnedHeldPermits { lock, count }
    }

    pub(super) fn lock(&self) -> &Arc<RwLock<T>> {
        &self.lock
    }

    /// Gives all permits but one back, which turns write access into read access.
    pub(super) fn keep_one(&mut self) {
        release_all_but_one(&self.lock.permits, &mut self.count);
    }
}

impl<T: ?Sized> Drop for OwnedHeldPermits<T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permits.release(self.count as usize);
    }
}
