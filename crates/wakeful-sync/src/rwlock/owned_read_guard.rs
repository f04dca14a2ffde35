//! The read guard that keeps the lock alive.

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

use super::RwLock;
use super::share::OwnedShare;
use crate::show_as_value::show_as_value;

/// A read lock on a [`RwLock`] that it keeps alive, held until dropped; `U` is the part of the value it
/// gives access to.
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
    share: OwnedShare<T>,
    value: *const U,
    _value: PhantomData<T>,
}

// SAFETY: the guard is as good as an `Arc<RwLock<T>>` and a `&U`.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Sync> Send for OwnedRwLockReadGuard<T, U> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedRwLockReadGuard<T, U> {}

impl<T: ?Sized, U: ?Sized> OwnedRwLockReadGuard<T, U> {
    /// `value` must be readable as long as `share` holds a permit.
    #[inline]
    pub(super) fn new(share: OwnedShare<T>, value: *const U) -> Self {
        OwnedRwLockReadGuard { share, value, _value: PhantomData }
    }

    /// Narrows the guard down to a part of the value.
    ///
    /// This is a function, not a method, so as not to hide methods of the value.
    #[inline]
    pub fn map<F, V: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, V>
    where
        F: FnOnce(&U) -> &V,
    {
        let part: *const V = f(&*this);
        OwnedRwLockReadGuard::new(this.share, part)
    }

    /// As [`map`](Self::map), if `f` finds the part; otherwise the guard comes back.
    #[inline]
    pub fn try_map<F, V: ?Sized>(this: Self, f: F) -> Result<OwnedRwLockReadGuard<T, V>, Self>
    where
        F: FnOnce(&U) -> Option<&V>,
    {
        match f(&*this).map(ptr::from_ref) {
            Some(part) => Ok(OwnedRwLockReadGuard::new(this.share, part)),
            None => Err(this),
        }
    }

    /// The lock this guard holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.share.lock()
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedRwLockReadGuard<T, U> {
    type Target = U;

    fn deref(&self) -> &U {
        // SAFETY: the share has a permit, so nobody writes the value that this is (a part of).
        unsafe { &*self.value }
    }
}

show_as_value!([T: ?Sized, U: ?Sized] OwnedRwLockReadGuard<T, U>, U);
