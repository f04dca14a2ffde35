//! Guards that borrow the mutex.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr;

use super::Mutex;
use crate::batch_semaphore::BatchSemaphore;
use crate::holder::HolderWord;
use crate::show_as_value::show_as_value;

/// The guard of a locked [`Mutex`], which unlocks it when dropped.
///
/// ```
/// use wakeful::sync::{Mutex, MutexGuard};
///
/// /// Takes the guard, which shows that the caller has the lock.
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

/// A [`MutexGuard`] with access to a part of the value only; created by [`MutexGuard::map`].
///
/// ```
/// use wakeful::sync::{MappedMutexGuard, Mutex, MutexGuard};
///
/// struct Account {
///     name: String,
///     balance: i64,
/// }
///
/// /// Gives access to the balance, but not to the name.
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
    permit: &'a BatchSemaphore<HolderWord>,
    part: *mut T,
    /// Makes the guard's lifetimes and variance those of a `&'a mut T`.
    _part: PhantomData<&'a mut T>,
}

// SAFETY: a shared guard gives access to `&T`, which takes `T: Sync`. (The automatic impl would
// only ask for what `Sync` of the mutex does, `T: Send`.)
unsafe impl<T: ?Sized + Send + Sync> Sync for MutexGuard<'_, T> {}
// SAFETY: the guard acts as the `&mut T` it gives access to; the permit may be given back on any
// thread.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}
// SAFETY: a shared guard gives access to `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// Makes a guard for a part of the value.
    ///
    /// This is an associated function, to be called as `MutexGuard::map(…)`, so that it does not
    /// hide a method of the value.
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

    /// Makes a guard for a part of the value if `f` returns one, otherwise gives this guard back.
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

    /// Returns the mutex that this guard locks.
    #[inline]
    pub fn mutex(this: &Self) -> &'a Mutex<T> {
        this.lock
    }

    fn narrow<U: ?Sized>(self, part: *mut U) -> MappedMutexGuard<'a, U> {
        // The permit now belongs to the new guard.
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
        // SAFETY: the guard has the only permit, so only its holder accesses the value.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and the guard is borrowed exclusively.
        unsafe { &mut *self.lock.value.get() }
    }
}

show_as_value!([T: ?Sized] MutexGuard<'_, T>, T);

impl<'a, T: ?Sized> MappedMutexGuard<'a, T> {
    /// Makes a guard for a part of this guard's part.
    #[inline]
    pub fn map<U, F>(mut this: Self, f: F) -> MappedMutexGuard<'a, U>
    where
        F: FnOnce(&mut T) -> &mut U,
    {
        let part: *mut U = f(&mut *this);
        this.narrow(part)
    }

    /// Makes a guard for a part of this guard's part if `f` returns one, otherwise gives this guard
    /// back.
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
        // The permit now belongs to the new guard.
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
        // SAFETY: `part` was derived from the value under the only permit, which this guard has
        // now. The mutex, which it borrows, keeps the value in place.
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
