//! The read guard that borrows the lock.

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;

use super::held_permits::HeldPermits;
use crate::show_as_value::show_as_value;

/// The guard of a [`RwLock`](super::RwLock) held for reading, which releases it when dropped.
///
/// ```
/// use wakeful::sync::RwLock;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let limits = RwLock::new([10, 20]);
/// let (one, other) = (limits.read().await, limits.read().await);
/// assert_eq!(one[0], other[0]);
/// assert!(limits.try_write().is_err()); // as long as one of them is there
/// # });
/// ```
#[clippy::has_significant_drop]
#[must_use = "a guard that is not kept unlocks at once"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    held: HeldPermits<'a>,
    value: *const T,
    /// Makes the guard's lifetimes and variance those of a `&'a T`.
    _value: PhantomData<&'a T>,
}

// SAFETY: the guard acts as a `&T`; its permit may be given back on any thread.
unsafe impl<T: ?Sized + Sync> Send for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockReadGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// Creates a guard.
    ///
    /// # Safety
    /// `held` must have a permit of the lock, and `value` must be valid for reads as long as it has
    /// one.
    #[inline]
    pub(super) unsafe fn new(held: HeldPermits<'a>, value: *const T) -> Self {
        RwLockReadGuard { held, value, _value: PhantomData }
    }

    /// Makes a guard for a part of the value.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// ```
    /// use wakeful::sync::{RwLock, RwLockReadGuard};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let pair = RwLock::new((1, 2));
    /// let first = RwLockReadGuard::map(pair.read().await, |pair| &pair.0);
    /// assert_eq!(*first, 1);
    /// # });
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let part: *const U = f(&*this);
        // SAFETY: the new guard gets the permit, which keeps the borrow that `f` got valid, and
        // `part` with it.
        unsafe { RwLockReadGuard::new(this.held, part) }
    }

    /// Makes a guard for a part of the value if `f` returns one, otherwise gives this guard back.
    #[inline]
    pub fn try_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&*this).map(ptr::from_ref) {
            // SAFETY: as in `map`.
            Some(part) => Ok(unsafe { RwLockReadGuard::new(this.held, part) }),
            None => Err(this),
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has a permit, so no writer accesses the value. `value` points to it or
        // to a part of it, and the lock, which the guard borrows, keeps it in place.
        unsafe { &*self.value }
    }
}

show_as_value!([T: ?Sized] RwLockReadGuard<'_, T>, T);
