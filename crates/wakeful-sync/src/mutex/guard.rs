//! Guards that borrow the mutex.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;

use super::Mutex;
use crate::batch_semaphore::BatchSemaphore;
use crate::show_as_value::show_as_value;

/// The lock on a [`Mutex`], held until dropped.
///
/// ```
/// use wakeful::sync::{Mutex, MutexGuard};
///
/// /// Whoever has the guard has the lock, so this need not take it.
/// fn record(log: &mut MutexGuard<'_, Vec<u32>>, entry: u32) {
///     log.push(entry);
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let log = Mutex::new(Vec::new());
/// let mut locked = log.lock().await;
/// record(&mut locked, 1);
/// wakeful::task::yield_now().await; // stays locked
/// record(&mut locked, 2);
/// drop(locked);
/// assert_eq!(*log.lock().await, [1, 2]);
/// # });
/// ```
#[clippy::has_significant_drop]
#[must_use = "a guard that is not kept unlocks at once"]
pub struct MutexGuard<'a, T: ?Sized> {
    pub(super) lock: &'a Mutex<T>,
}

/// The lock on a [`Mutex`], with access to a part of its value only; from [`MutexGuard::map`].
///
/// ```
/// use wakeful::sync::{MappedMutexGuard, Mutex, MutexGuard};
///
/// struct Account {
///     name: String,
///     balance: i64,
/// }
///
/// /// Lets the caller at the balance, and at nothing else.
/// async fn balance(account: &Mutex<Account>) -> MappedMutexGuard<'_, i64> {
///     MutexGuard::map(account.lock().await, |account| &mut account.balance)
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let account = Mutex::new(Account { name: "till".to_owned(), balance: 5 });
/// *balance(&account).await += 10;
/// let account = account.into_inner();
/// assert_eq!((account.name.as_str(), account.balance), ("till", 15));
/// # });
/// ```
#[clippy::has_significant_drop]
#[must_use = "a guard that is not kept unlocks at once"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    permit: &'a BatchSemaphore,
    part: *mut T,
    /// It gives out what `&'a mut T` would.
    _part: PhantomData<&'a mut T>,
}

// SAFETY: a shared guard gives out `&T`, and a `T: Send` may be behind the mutex's own `Sync`.
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: the guard is as good as the `&mut T` it gives out; the permit may be given back anywhere.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}
// SAFETY: as above; a shared guard is as good as a `&T`.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Narrows the guard down to a part of the value.
    ///
    /// This is a function, not a method, so as not to hide methods of the value: `MutexGuard::map(…)`.
    ///
    /// ```
    /// use wakeful::sync::{Mutex, MutexGuard};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let pair = Mutex::new((1, 2));
    /// let mut first = MutexGuard::map(pair.lock().await, |pair| &mut pair.0);
    /// *first = 5;
    /// drop(first);
    /// assert_eq!(*pair.lock().await, (5, 2));
    /// # });
    /// ```
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> &mut U,
    {
        let part: *mut U = f(&mut *this);
        this.narrow(part)
    }

    /// As [`map`](Self::map), if `f` finds the part; otherwise the guard comes back.
    ///
    /// ```
    /// use wakeful::sync::{Mutex, MutexGuard};
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let queue = Mutex::new(vec![7]);
    /// let mut last = MutexGuard::try_map(queue.lock().await, |queue| queue.last_mut()).unwrap();
    /// *last += 1;
    /// drop(last);
    ///
    /// queue.lock().await.clear();
    /// let Err(empty) = MutexGuard::try_map(queue.lock().await, |queue| queue.last_mut()) else {
    ///     panic!("there was nothing to find");
    /// };
    /// assert!(empty.is_empty());
    /// # });
    /// ```
    #[inline]
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        U: ?Sized,
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => Ok(this.narrow(part)),
            None => Err(this),
        }
    }

    /// The mutex this guard locks.
    #[inline]
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.lock
    }

    fn narrow<U: ?Sized>(self, part: *mut U) -> MappedMutexGuard<'a, U> {
        // The permit goes over to the new guard.
        let this = ManuallyDrop::new(self);
        MappedMutexGuard { permit: &this.lock.permit, part, _part: PhantomData }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.permit.release(1);
    }
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the guard has the only permit.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the only permit, and is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

show_as_value!([T: ?Sized] MutexGuard<'_, T>, T);

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// Narrows the guard further down.
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part: *mut U = f(&mut *this);
        this.narrow(part)
    }

    /// As [`map`](Self::map), if `f` finds the part; otherwise the guard comes back.
    #[inline]
    pub fn try_map<U, F>(mut this: Self, f: F) -> Result<MappedMutexGuard<'a, U>, Self>
    where
        F: FnOnce(&mut T) -> Option<&mut U>,
    {
        match f(&mut *this).map(ptr::from_mut) {
            Some(part) => Ok(this.narrow(part)),
            None => Err(this),
        }
    }

    fn narrow<U: ?Sized>(self, part: *mut U) -> MappedMutexGuard<'a, U> {
        // The permit goes over to the new guard.
        let this = ManuallyDrop::new(self);
        MappedMutexGuard { permit: this.permit, part, _part: PhantomData }
    }
}

impl<T: ?Sized> Drop for MappedMutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.permit.release(1);
    }
}

impl<T: ?Sized> Deref for MappedMutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        // SAFETY: the part was borrowed from the value under the only permit, which the guard has.
        unsafe { &*self.part }
    }
}

impl<T: ?Sized> DerefMut for MappedMutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.part }
    }
}

show_as_value!([T: ?Sized] MappedMutexGuard<'_, T>, T);
