//! A guard's share of the permits.

use std::sync::Arc;

use wakeful_base::catch_panic::contain_panic;

use super::RwLock;
use crate::batch_semaphore::BatchSemaphore;

/// Permits that are given back when dropped.
pub(super) struct Share<'a> {
    permits: &'a BatchSemaphore,
    count: u32,
}

/// As [`Share`], and keeps the lock alive.
pub(super) struct OwnedShare<T: ?Sized> {
    lock: Arc<RwLock<T>>,
    count: u32,
}

/// Gives all permits but one back. Contains the panic of a reader's waker: the caller would lose its guard by it.
fn release_all_but_one(permits: &BatchSemaphore, count: &mut u32) {
    let rest = std::mem::replace(count, 1) - 1;
    contain_panic(|| permits.release(rest as usize));
}

impl<'a> Share<'a> {
    /// The caller has taken the permits.
    #[inline]
    pub(super) fn new(permits: &'a BatchSemaphore, count: u32) -> Self {
        Share { permits, count }
    }

    /// Gives all permits but a reader's back.
    pub(super) fn keep_one(&mut self) {
        release_all_but_one(self.permits, &mut self.count);
    }
}

impl Drop for Share<'_> {
    #[inline]
    fn drop(&mut self) {
        self.permits.release(self.count as usize);
    }
}

impl<T: ?Sized> OwnedShare<T> {
    /// The caller has taken the permits.
    #[inline]
    pub(super) fn new(lock: Arc<RwLock<T>>, count: u32) -> Self {
        OwnedShare { lock, count }
    }

    pub(super) fn lock(&self) -> &Arc<RwLock<T>> {
        &self.lock
    }

    /// Gives all permits but a reader's back.
    pub(super) fn keep_one(&mut self) {
        release_all_but_one(&self.lock.permits, &mut self.count);
    }
}

impl<T: ?Sized> Drop for OwnedShare<T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permits.release(self.count as usize);
    }
}
