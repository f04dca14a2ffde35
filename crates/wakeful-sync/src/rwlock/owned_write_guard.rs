//! Write guards that hold an `Arc` of the lock.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;

use super::RwLock;
use super::held_permits::OwnedHeldPermits;
use super::owned_read_guard::OwnedRwLockReadGuard;
use crate::show_as_value::show_as_value;

/// A [`RwLockWriteGuard`](super::RwLockWriteGuard) that holds an `Arc` of the lock instead of a
/// borrow.
///
/// ```
/// use std::sync::Arc;
/// use wakeful::sync::RwLock;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let scores = Arc::new(RwLock::new(vec![1]));
/// let mut writer = scores.clone().write_owned().await;
/// wakeful::spawn(async move { writer.push(2) }).await.unwrap();
/// assert_eq!(*scores.read().await, [1, 2]);
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockWriteGuard<T: ?Sized> {
    held: OwnedHeldPermits<T>,
    value: *mut T,
    _value: PhantomData<T>,
}

/// An [`OwnedRwLockWriteGuard`] with access to a part of the value only; created by
/// [`OwnedRwLockWriteGuard::map`].
///
/// ```
/// use std::sync::Arc;
/// use wakeful::sync::{OwnedRwLockWriteGuard, RwLock};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let scores = Arc::new(RwLock::new([1, 2]));
/// let writer = scores.clone().write_owned().await;
/// let mut second = OwnedRwLockWriteGuard::map(writer, |scores| &mut scores[1]);
/// wakeful::spawn(async move { *second = 20 }).await.unwrap();
/// assert_eq!(*scores.read().await, [1, 20]);
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedRwLockMappedWriteGuard<T: ?Sized, U: ?Sized = T> {
    held: OwnedHeldPermits<T>,
    part: *mut U,
    _value: PhantomData<T>,
}

// SAFETY: the guard acts as an `Arc<RwLock<T>>` and a `&mut T`. `T: Sync` is for its downgrade to a
// read guard, beside which other readers may hold a `&T`.
unsafe impl<T: ?Sized + Send + Sync> Send for OwnedRwLockWriteGuard<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedRwLockWriteGuard<T> {}
// SAFETY: the guard acts as an `Arc<RwLock<T>>` and a `&mut U`.
unsafe impl<T, U> Send for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}
// SAFETY: as above.
unsafe impl<T, U> Sync for OwnedRwLockMappedWriteGuard<T, U>
where
    T: ?Sized + Send + Sync,
    U: ?Sized + Send + Sync,
{
}

impl<T: ?Sized> OwnedRwLockWriteGuard<T> {
    /// Creates a guard.
    ///
    /// # Safety
    /// `held` must have all permits of the lock, and `value` must be valid for reads and writes as
    /// long as it has them.
    #[inline]
    pub(super) unsafe fn new(held: OwnedHeldPermits<T>, value: *mut T) -> Self {
        OwnedRwLockWriteGuard { held, value, _value: PhantomData }
    }

    /// Makes a guard for a part of the value.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part: *mut U = f(&mut *this);
        OwnedRwLockMappedWriteGuard { held: this.held, part, _value: PhantomData }
    }

    /// Downgrades to a read guard for a part of the value.
    #[inline]
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> OwnedRwLockReadGuard<T, U>
    where
        F: FnOnce(&T) -> &U,
    {
        let part: *const U = f(&*this);
        // SAFETY: the new guard keeps a permit, which keeps the borrow that `f` got valid, and
        // `part` with it.
        unsafe { this.into_reader_of(part) }
    }

    /// Makes a guard for a part of the value if `f` returns one, otherwise gives this guard back.
    #[inline]
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => {
                Ok(OwnedRwLockMappedWriteGuard { held: this.held, part, _value: PhantomData })
            }
            None => Err(this),
        }
    }

    /// Downgrades to a read guard for a part of the value if `f` returns one, otherwise gives this
    /// guard back.
    #[inline]
    pub fn try_downgrade_map<F, U: ?Sized>(
        this: Self,
        f: F,
    ) -> Result<OwnedRwLockReadGuard<T, U>, Self>
    where
        F: FnOnce(&T) -> Option<&U>,
    {
        match f(&*this).map(ptr::from_ref) {
            // SAFETY: as in `downgrade_map`.
            Some(part) => Ok(unsafe { this.into_reader_of(part) }),
            None => Err(this),
        }
    }

    /// Makes a mapped guard with access to the whole value.
    #[inline]
    pub fn into_mapped(this: Self) -> OwnedRwLockMappedWriteGuard<T> {
        OwnedRwLockWriteGuard::map(this, |value| value)
    }

    /// Downgrades to a read guard. Other readers can join, and no writer gets in between.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wakeful::sync::RwLock;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let table = Arc::new(RwLock::new(vec![1]));
    /// let mut writer = table.clone().write_owned().await;
    /// writer.push(2);
    /// let reader = writer.downgrade();
    /// let sum = wakeful::spawn(async move { reader.iter().sum::<i32>() });
    /// assert_eq!(table.read().await.len(), 2);
    /// assert_eq!(sum.await.unwrap(), 3);
    /// # });
    /// ```
    pub fn downgrade(self) -> OwnedRwLockReadGuard<T> {
        let value = self.value;
        // SAFETY: as long as a guard has a permit, no writer accesses the value.
        unsafe { self.into_reader_of(value) }
    }

    /// Returns the lock that this guard holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.held.lock()
    }

    /// Gives all permits but one back, and makes a read guard for `part`.
    ///
    /// # Safety
    /// `part` must be valid for reads as long as the guard has a permit.
    unsafe fn into_reader_of<U: ?Sized>(mut self, part: *const U) -> OwnedRwLockReadGuard<T, U> {
        self.held.keep_one();
        // SAFETY: `held` has one permit left. The rest holds by contract.
        unsafe { OwnedRwLockReadGuard::new(self.held, part) }
    }
}

impl<T: ?Sized> Deref for OwnedRwLockWriteGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has all permits, so no other guard accesses the value. The guard's
        // `Arc` keeps the value in place.
        unsafe { &*self.value }
    }
}

impl<T: ?Sized> DerefMut for OwnedRwLockWriteGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.value }
    }
}

show_as_value!([T: ?Sized] OwnedRwLockWriteGuard<T>, T);

impl<T: ?Sized, U: ?Sized> OwnedRwLockMappedWriteGuard<T, U> {
    /// Makes a guard for a part of this guard's part.
    #[inline]
    pub fn map<F, V: ?Sized>(mut this: Self, f: F) -> OwnedRwLockMappedWriteGuard<T, V>
    where
        F: FnOnce(&mut U) -> &mut V,
    {
        let part: *mut V = f(&mut *this);
        OwnedRwLockMappedWriteGuard { held: this.held, part, _value: PhantomData }
    }

    /// Makes a guard for a part of this guard's part if `f` returns one, otherwise gives this guard
    /// back.
    #[inline]
    pub fn try_map<F, V: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<OwnedRwLockMappedWriteGuard<T, V>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut V>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => {
                Ok(OwnedRwLockMappedWriteGuard { held: this.held, part, _value: PhantomData })
            }
            None => Err(this),
        }
    }

    /// Returns the lock that this guard holds.
    pub fn rwlock(this: &Self) -> &Arc<RwLock<T>> {
        this.held.lock()
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedRwLockMappedWriteGuard<T, U> {
    type Target = U;

    fn deref(&self) -> &U {
        // SAFETY: the guard has all permits, so no other guard accesses the value, of which this is
        // a part. The guard's `Arc` keeps the value in place.
        unsafe { &*self.part }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedRwLockMappedWriteGuard<T, U> {
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.part }
    }
}

show_as_value!([T: ?Sized, U: ?Sized] OwnedRwLockMappedWriteGuard<T, U>, U);
