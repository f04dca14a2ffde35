//! Guards that hold an `Arc` of the mutex.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;

use super::Mutex;
use crate::show_as_value::show_as_value;

/// A [`MutexGuard`](super::MutexGuard) that holds an `Arc` of the mutex instead of a borrow.
///
/// ```
/// use std::sync::Arc;
/// use wakeful::sync::Mutex;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let count = Arc::new(Mutex::new(0));
/// let mut locked = count.clone().lock_owned().await;
/// let task = wakeful::spawn(async move {
///     *locked += 1; // unlocks when the task is over
/// });
/// assert_eq!(*count.lock().await, 1);
/// task.await.unwrap();
/// # });
/// ```
#[clippy::has_significant_drop]
pub struct OwnedMutexGuard<T: ?Sized> {
    pub(super) lock: Arc<Mutex<T>>,
}

/// An [`OwnedMutexGuard`] with access to a part of the value only; created by
/// [`OwnedMutexGuard::map`].
///
/// ```
/// use std::sync::Arc;
/// use wakeful::sync::{Mutex, OwnedMutexGuard};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let words = Arc::new(Mutex::new(vec!["one", "two"]));
/// let mut first = OwnedMutexGuard::map(words.clone().lock_owned().await, |words| &mut words[0]);
/// wakeful::spawn(async move { *first = "eins" }).await.unwrap();
/// assert_eq!(*words.lock().await, ["eins", "two"]);
/// # });
/// ```
#[clippy::has_significant_drop]
#[must_use = "a guard that is not kept unlocks at once"]
pub struct OwnedMappedMutexGuard<T: ?Sized, U: ?Sized = T> {
    part: *mut U,
    lock: Arc<Mutex<T>>,
}

// SAFETY: a shared guard gives access to `&T`, which takes `T: Sync`. (The automatic impl would
// only ask for what `Sync` of the mutex does, `T: Send`.)
unsafe impl<T: ?Sized + Send + Sync> Sync for OwnedMutexGuard<T> {}
// SAFETY: the guard acts as an `Arc<Mutex<T>>` and the `&mut U` it gives access to.
unsafe impl<T: ?Sized + Send, U: ?Sized + Send> Send for OwnedMappedMutexGuard<T, U> {}
// SAFETY: as above; a shared guard gives access to `&U` only.
unsafe impl<T: ?Sized + Send + Sync, U: ?Sized + Send + Sync> Sync for OwnedMappedMutexGuard<T, U> {}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// Makes a guard for a part of the value.
    ///
    /// This is an associated function, so that it does not hide a method of the value.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wakeful::sync::{Mutex, OwnedMutexGuard};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let pair = Arc::new(Mutex::new((1, 2)));
    /// let mut first = OwnedMutexGuard::map(pair.clone().lock_owned().await, |pair| &mut pair.0);
    /// *first = 5;
    /// drop(first);
    /// assert_eq!(*pair.lock().await, (5, 2));
    /// # });
    /// ```
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let part: *mut U = f(&mut *this);
        this.narrow(part)
    }

    /// Makes a guard for a part of the value if `f` returns one, otherwise gives this guard back.
    #[inline]
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => Ok(this.narrow(part)),
            None => Err(this),
        }
    }

    /// Returns the mutex that this guard locks.
    #[inline]
    pub fn mutex(this: &Self) -> &Arc<Mutex<T>> {
        &this.lock
    }

    fn narrow<U: ?Sized>(self, part: *mut U) -> OwnedMappedMutexGuard<T, U> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so the `Arc` is moved out of it exactly once. The permit
        // goes to the new guard with it.
        let lock = unsafe { ptr::read(&this.lock) };
        OwnedMappedMutexGuard { part, lock }
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permit.unlock(1);
    }
}

impl<T: ?Sized> Deref for OwnedMutexGuard<T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has the only permit, so only its holder accesses the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for OwnedMutexGuard<T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

show_as_value!([T: ?Sized] OwnedMutexGuard<T>, T);

impl<T: ?Sized, U: ?Sized> OwnedMappedMutexGuard<T, U> {
    /// Makes a guard for a part of this guard's part.
    #[inline]
    pub fn map<S, F>(mut this: Self, f: F) -> OwnedMappedMutexGuard<T, S>
    where
        F: FnOnce(&mut U) -> &mut S,
    {
        let part: *mut S = f(&mut *this);
        this.narrow(part)
    }

    /// Makes a guard for a part of this guard's part if `f` returns one, otherwise gives this guard
    /// back.
    #[inline]
    pub fn try_map<S, F>(mut this: Self, f: F) -> Result<OwnedMappedMutexGuard<T, S>, Self>
    where
        F: FnOnce(&mut U) -> Option<&mut S>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => Ok(this.narrow(part)),
            None => Err(this),
        }
    }

    fn narrow<S: ?Sized>(self, part: *mut S) -> OwnedMappedMutexGuard<T, S> {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so the `Arc` is moved out of it exactly once. The permit
        // goes to the new guard with it.
        let lock = unsafe { ptr::read(&this.lock) };
        OwnedMappedMutexGuard { part, lock }
    }
}

impl<T: ?Sized, U: ?Sized> Drop for OwnedMappedMutexGuard<T, U> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permit.unlock(1);
    }
}

impl<T: ?Sized, U: ?Sized> Deref for OwnedMappedMutexGuard<T, U> {
    type Target = U;

    fn deref(&self) -> &U {
        // SAFETY: `part` was derived from the value under the only permit, which this guard has
        // now. The `Arc` keeps the value in place.
        unsafe { &*self.part }
    }
}

impl<T: ?Sized, U: ?Sized> DerefMut for OwnedMappedMutexGuard<T, U> {
    fn deref_mut(&mut self) -> &mut U {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.part }
    }
}

show_as_value!([T: ?Sized, U: ?Sized] OwnedMappedMutexGuard<T, U>, U);
