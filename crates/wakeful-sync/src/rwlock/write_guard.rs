//! Write guards that borrow the lock.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr;

use super::held_permits::HeldPermits;
use super::read_guard::RwLockReadGuard;
use crate::show_as_value::show_as_value;

/// The guard of a [`RwLock`](super::RwLock) held for writing, which releases it when dropped.
///
/// ```
/// use wakeful::sync::RwLock;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let names = RwLock::new(vec!["one"]);
/// let mut writer = names.write().await;
/// writer.push("two");
/// assert!(names.try_read().is_err()); // as long as it is there
/// drop(writer);
/// assert_eq!(names.read().await.len(), 2);
/// # });
/// ```
#[clippy::has_significant_drop]
#[must_use = "a guard that is not kept unlocks at once"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    held: HeldPermits<'a>,
    value: *mut T,
    /// Makes the guard's lifetimes and variance those of a `&'a mut T`.
    _value: PhantomData<&'a mut T>,
}

/// A [`RwLockWriteGuard`] with access to a part of the value only; created by
/// [`RwLockWriteGuard::map`].
///
/// ```
/// use wakeful::sync::{RwLock, RwLockWriteGuard};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let limits = RwLock::new([10, 20]);
/// let mut second = RwLockWriteGuard::map(limits.write().await, |limits| &mut limits[1]);
/// *second += 5;
/// drop(second);
/// assert_eq!(limits.into_inner(), [10, 25]);
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct RwLockMappedWriteGuard<'a, T: ?Sized> {
    held: HeldPermits<'a>,
    part: *mut T,
    /// Makes the guard's lifetimes and variance those of a `&'a mut T`.
    _part: PhantomData<&'a mut T>,
}

// SAFETY: the guard acts as a `&mut T`; its permits may be given back on any thread. `T: Sync` is
// for its downgrade to a read guard, beside which other readers may hold a `&T`.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockWriteGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockWriteGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockMappedWriteGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLockMappedWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Creates a guard.
    ///
    /// # Safety
    /// `held` must have all permits of the lock, and `value` must be valid for reads and writes as
    /// long as it has them.
    #[inline]
    pub(super) unsafe fn new(held: HeldPermits<'a>, value: *mut T) -> Self {
        RwLockWriteGuard { held, value, _value: PhantomData }
    }

    /// Makes a guard for a part of the value.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// ```
    /// use wakeful::sync::{RwLock, RwLockWriteGuard};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let pair = RwLock::new((1, 2));
    /// let mut first = RwLockWriteGuard::map(pair.write().await, |pair| &mut pair.0);
    /// *first = 5;
    /// drop(first);
    /// assert_eq!(*pair.read().await, (5, 2));
    /// # });
    /// ```
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part: *mut U = f(&mut *this);
        RwLockMappedWriteGuard { held: this.held, part, _part: PhantomData }
    }

    /// Downgrades to a read guard for a part of the value.
    ///
    /// ```
    /// use wakeful::sync::{RwLock, RwLockWriteGuard};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = RwLock::new((0, "name"));
    /// let mut writer = lock.write().await;
    /// writer.0 += 1;
    /// let count = RwLockWriteGuard::downgrade_map(writer, |value| &value.0);
    /// assert_eq!((*count, lock.read().await.1), (1, "name")); // others read again
    /// # });
    /// ```
    #[inline]
    pub fn downgrade_map<F, U: ?Sized>(this: Self, f: F) -> RwLockReadGuard<'a, U>
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
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => Ok(RwLockMappedWriteGuard { held: this.held, part, _part: PhantomData }),
            None => Err(this),
        }
    }

    /// Downgrades to a read guard for a part of the value if `f` returns one, otherwise gives this
    /// guard back.
    #[inline]
    pub fn try_downgrade_map<F, U: ?Sized>(this: Self, f: F) -> Result<RwLockReadGuard<'a, U>, Self>
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
    pub fn into_mapped(this: Self) -> RwLockMappedWriteGuard<'a, T> {
        RwLockWriteGuard::map(this, |value| value)
    }

    /// Downgrades to a read guard. Other readers can join, and no writer gets in between.
    ///
    /// ```
    /// use wakeful::sync::RwLock;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let lock = RwLock::new(1);
    /// let mut writer = lock.write().await;
    /// *writer = 2;
    /// let reader = writer.downgrade();
    /// assert_eq!(*lock.read().await, 2);
    /// assert_eq!(*reader, 2);
    /// # });
    /// ```
    pub fn downgrade(self) -> RwLockReadGuard<'a, T> {
        let value = self.value;
        // SAFETY: as long as a guard has a permit, no writer accesses the value.
        unsafe { self.into_reader_of(value) }
    }

    /// Gives all permits but one back, and makes a read guard for `part`.
    ///
    /// # Safety
    /// `part` must be valid for reads as long as the guard has a permit.
    unsafe fn into_reader_of<U: ?Sized>(mut self, part: *const U) -> RwLockReadGuard<'a, U> {
        self.held.keep_one();
        // SAFETY: `held` has one permit left. The rest holds by contract.
        unsafe { RwLockReadGuard::new(self.held, part) }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has all permits, so no other guard accesses the value.
        unsafe { &*self.value }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.value }
    }
}

show_as_value!([T: ?Sized] RwLockWriteGuard<'_, T>, T);

impl<'a, T: ?Sized> RwLockMappedWriteGuard<'a, T> {
    /// Makes a guard for a part of this guard's part.
    #[inline]
    pub fn map<F, U: ?Sized>(mut this: Self, f: F) -> RwLockMappedWriteGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part: *mut U = f(&mut *this);
        RwLockMappedWriteGuard { held: this.held, part, _part: PhantomData }
    }

    /// Makes a guard for a part of this guard's part if `f` returns one, otherwise gives this guard
    /// back.
    #[inline]
    pub fn try_map<F, U: ?Sized>(
        mut this: Self,
        f: F,
    ) -> Result<RwLockMappedWriteGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => Ok(RwLockMappedWriteGuard { held: this.held, part, _part: PhantomData }),
            None => Err(this),
        }
    }
}

impl<T: ?Sized> Deref for RwLockMappedWriteGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has all permits, so no other guard accesses the value, of which this is
        // a part.
        unsafe { &*self.part }
    }
}

impl<T: ?Sized> DerefMut for RwLockMappedWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.part }
    }
}

show_as_value!([T: ?Sized] RwLockMappedWriteGuard<'_, T>, T);
