//! A mutual exclusion lock whose guard may be held across an `.await`.
//!
//! A semaphore of one permit: who has it may touch the value. Locking a free mutex is one
//! compare-and-swap, and so is unlocking one that nobody waits for; otherwise the permit goes straight
//! to the first in the queue.

mod guard;
mod owned_guard;

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

use crate::batch_semaphore::BatchSemaphore;
use crate::blocking::block_on;

pub use guard::{MappedMutexGuard, MutexGuard};
pub use owned_guard::{OwnedMappedMutexGuard, OwnedMutexGuard};

/// Lets one at a time touch a value; who finds it locked waits without blocking the thread.
///
/// The guard may be held across an `.await`, which is what sets this mutex apart from the one in `std`.
/// If yours is never held across one, prefer `std`'s: it is smaller and faster.
///
/// The lock is fair: it goes to those who asked first. Unlike `std`'s it is not poisoned when a holder
/// panics; it is simply unlocked.
///
/// # Examples
///
/// ```
/// use wakeful::sync::Mutex;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let balance = Mutex::new(10);
/// {
///     let mut locked = balance.lock().await;
///     *locked -= 3;
/// }
/// assert_eq!(*balance.lock().await, 7);
/// # });
/// ```
pub struct Mutex<T: ?Sized> {
    permit: BatchSemaphore,
    value: UnsafeCell<T>,
}

// SAFETY: sending the mutex sends the value.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: the permit lets only one at a time touch the value, so that sharing the mutex only ever sends
// the value from one holder to the next.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The mutex or lock is held by somebody else, and the call does not wait.
///
/// ```
/// use wakeful::sync::Mutex;
///
/// let printer = Mutex::new("idle");
/// let _busy = printer.try_lock().unwrap();
/// if let Err(error) = printer.try_lock() {
///     println!("come back later: {error}");
/// }
/// # assert!(printer.try_lock().is_err());
/// ```
#[derive(Debug)]
pub struct TryLockError(pub(crate) ());

impl fmt::Display for TryLockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("operation would block")
    }
}

impl std::error::Error for TryLockError {}

impl<T: ?Sized> Mutex<T> {
    /// A mutex around `value`, unlocked.
    #[track_caller]
    pub fn new(value: T) -> Self
    where
        T: Sized,
    {
        Mutex { permit: BatchSemaphore::new(1), value: UnsafeCell::new(value) }
    }

    /// A mutex around `value`, unlocked, for a `static`.
    ///
    /// ```
    /// use wakeful::sync::Mutex;
    ///
    /// static COUNT: Mutex<u32> = Mutex::const_new(5);
    /// assert_eq!(*COUNT.try_lock().unwrap(), 5);
    /// ```
    #[cfg(not(wakeful_loom))]
    pub const fn const_new(value: T) -> Self
    where
        T: Sized,
    {
        Mutex { permit: BatchSemaphore::const_new(1), value: UnsafeCell::new(value) }
    }

    /// Waits for the lock.
    ///
    /// # Cancel safety
    ///
    /// Waiters stand in a queue. Dropping the future gives up its place and loses nothing else.
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        self.take_permit().await;
        MutexGuard { lock: self }
    }

    /// Waits for the lock on this thread, which sleeps meanwhile.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    ///
    /// ```
    /// use wakeful::sync::Mutex;
    ///
    /// let mutex = Mutex::new(1);
    /// *mutex.blocking_lock() += 1;
    /// assert_eq!(mutex.into_inner(), 2);
    /// ```
    #[track_caller]
    #[doc(alias = "lock_blocking")]
    pub fn blocking_lock(&self) -> MutexGuard<'_, T> {
        block_on("`Mutex::blocking_lock`", "lock().await", self.lock())
    }

    /// Waits on this thread for the lock, with a guard that keeps the mutex alive.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        block_on("`Mutex::blocking_lock_owned`", "lock_owned().await", self.lock_owned())
    }

    /// Waits for the lock, with a guard that keeps the mutex alive and can go wherever its holder goes.
    ///
    /// # Cancel safety
    ///
    /// Waiters stand in a queue. Dropping the future gives up its place and loses nothing else.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wakeful::sync::Mutex;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut guard = mutex.clone().lock_owned().await;
    /// let other = std::thread::spawn(move || *guard += 1);
    /// # other.join().unwrap();
    /// assert_eq!(*mutex.lock().await, 2);
    /// # });
    /// ```
    pub async fn lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        self.take_permit().await;
        OwnedMutexGuard { lock: self }
    }

    /// Takes the lock if it is free.
    ///
    /// ```
    /// use wakeful::sync::Mutex;
    ///
    /// let mutex = Mutex::new(1);
    /// let guard = mutex.try_lock().unwrap();
    /// assert!(mutex.try_lock().is_err());
    /// drop(guard);
    /// assert!(mutex.try_lock().is_ok());
    /// ```
    pub fn try_lock(&self) -> Result<MutexGuard<'_, T>, TryLockError> {
        self.permit.try_acquire(1).map_err(|_| TryLockError(()))?;
        Ok(MutexGuard { lock: self })
    }

    /// Takes the lock if it is free, with a guard that keeps the mutex alive.
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        self.permit.try_acquire(1).map_err(|_| TryLockError(()))?;
        Ok(OwnedMutexGuard { lock: self })
    }

    /// The value. No lock is needed: the exclusive borrow shows that nobody else can hold it.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value; the mutex is gone.
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.value.into_inner()
    }

    #[inline]
    async fn take_permit(&self) {
        let taken = self.permit.acquire(1).await;
        debug_assert!(taken.is_ok(), "nobody closes the semaphore of a mutex");
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Mutex");
        match self.try_lock() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(_) => shown.field("data", &format_args!("<locked>")),
        };
        shown.finish()
    }
}
