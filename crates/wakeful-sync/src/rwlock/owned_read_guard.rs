//! The read guard that holds an `Arc` of the lock.

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

use super::RwLock;
use super::held_permits::OwnedHeldPermits;
use crate::show_as_value::show_as_value;

/// A [`RwLockReadGuard`](super::RwLockReadGuard) that holds an `Arc` of the lock instead of a
/// borrow.
///
/// `U` is the part of the value that the guard gives access to.
///
/// ```
/// use std::sync::Arc;
/// use wakeful::sync::{OwnedRwLockReadGuard, RwLock};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let config = Arc::new(RwLock::new(("host".to_owned(), 80)));
/// let host = OwnedRwLockReadGuard::map(config.clone().read_owned().await, |config| &config.0);
/// drop(config); // the guard keeps the lock, and what it is for
/// assert_eq!(*host, "host");
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockReadGuard<T: ?Sized, U: ?Sized = T> {
    held: OwnedHeldPermits<T>,
    value: *const U,
    _value: PhantomData<T>,
}

// SAFETY: the guard acts as an `Arc<RwLock<T>>` and a `&U`.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Send for OwnedRwLockReadGuard<T, U> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedRwLockReadGuard<T, U> {}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// Creates a guard.
    ///
    /// # Safety
    /// `held` must have a permit of the lock, and `value` must be valid for reads as long as it has
    /// one.
    #[inline]
    pub(super) unsafe fn new(held: OwnedHeldPermits<T>, value: *const U) -> Self {
        OwnedRwLockReadGuard { held, value, _value: PhantomData }
    }

    /// Makes a guard for a part of the value.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    #[inline]
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, V>
    where
        F: FnOnce(&U) -> &V,
    {
        let part: *const V = f(&*this);
        // SAFETY: the new guard gets the permit, which keeps the borrow that `f` got valid, and
        // `part` with it.
        unsafe { OwnedRwLockReadGuard::new(this.held, part) }
    }

    /// Makes a guard for a part of the value if `f` returns one, otherwise gives this guard back.
    #[inline]
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        match f(&*this).map(ptr::from_ref) {
            // SAFETY: as in `map`.
            Some(part) => Ok(unsafe { OwnedRwLockReadGuard::new(this.held, part) }),
            None => Err(this),
        }
    }

    /// Returns the lock that this guard holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.held.lock()
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedRwLockReadGuard<T, U> {
    type Target = U;

    fn deref(&self) -> &U {
        // SAFETY: the guard has a permit, so no writer accesses the value. `value` points to it or
        // to a part of it, and its `Arc` keeps it in place.
        unsafe { &*self.value }
    }
}

show_as_value!([T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U>, U);
