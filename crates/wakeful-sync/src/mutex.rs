//! [`Mutex`]: a lock whose guard may be held across an `.await`.
//!
//! It is a semaphore of one permit (`batch_semaphore.rs`), whose holder may access the value.
//! Locking a free mutex takes one compare-and-swap, and so does unlocking one that no task waits
//! for. If tasks wait, the permit goes to the first of them.
//!
//! `mutex/guard.rs` has the guards that borrow the mutex, `mutex/owned_guard.rs` those that hold an
//! `Arc`.

mod guard;
mod owned_guard;

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

use crate::batch_semaphore::BatchSemaphore;
use crate::blocking::block_on;
use crate::holder::{HolderWord, TrackHolder};
use wakeful_base::waiting::WaitKind;

pub use guard::{MappedMutexGuard, MutexGuard};
pub use owned_guard::{OwnedMappedMutexGuard, OwnedMutexGuard};

/// A mutual exclusion lock for asynchronous code.
///
/// [`lock`](Self::lock) waits without blocking the thread, and the guard may be held across an
/// `.await`.
///
/// The lock is fair: tasks get it in the order in which they asked. It is not poisoned: if a task
/// panics while it holds the guard, the mutex is simply unlocked.
///
/// # Which kind of mutex to use
///
/// If the guard is never held across an `.await`, prefer [`std::sync::Mutex`], which is smaller and
/// faster; blocking the thread for a moment does no harm. Use this one to keep a resource, such as
/// a connection, locked during an asynchronous operation on it. Another way is a task that owns the
/// resource and receives requests by a channel.
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
    permit: BatchSemaphore<HolderWord>,
    value: UnsafeCell<T>,
}

// SAFETY: to send the mutex is to send the value.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: the permit lets only one thread at a time access the value. Sharing the mutex thus only
// sends the value from one holder to the next, for which `T: Send` is enough.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

/// The error of a `try_` method of [`Mutex`] or [`RwLock`](crate::RwLock) that would have had to
/// wait.
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
    /// Creates an unlocked mutex around `value`.
    #[track_caller]
    pub fn new(value: T) -> Self
    where
        T: Sized,
    {
        Mutex { permit: BatchSemaphore::new(1, HolderWord::new()), value: UnsafeCell::new(value) }
    }

    /// Creates an unlocked mutex around `value`, in a `const` context such as a `static`.
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
        Mutex {
            permit: BatchSemaphore::const_new(1, HolderWord::new()),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and a
    /// lock it was already given goes to the next task.
    pub async fn lock(&self) -> MutexGuard<'_, T> {
        self.take_permit().await;
        MutexGuard { lock: self }
    }

    /// Waits for the lock, blocking the current thread.
    ///
    /// # Panics
    ///
    /// Panics if the current thread is running asynchronous tasks. Use [`lock`](Self::lock) there.
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

    /// Waits for the lock, blocking the current thread; the guard holds an `Arc` of the mutex.
    ///
    /// # Panics
    ///
    /// Panics if the current thread is running asynchronous tasks. Use
    /// [`lock_owned`](Self::lock_owned) there.
    #[track_caller]
    pub fn blocking_lock_owned(self: Arc<Self>) -> OwnedMutexGuard<T> {
        block_on("`Mutex::blocking_lock_owned`", "lock_owned().await", self.lock_owned())
    }

    /// Waits for the lock; the guard holds an `Arc` of the mutex.
    ///
    /// The guard borrows nothing, so it can be moved into a task or a thread.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and a
    /// lock it was already given goes to the next task.
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
        self.permit.holder().mark_owned();
        OwnedMutexGuard { lock: self }
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    ///
    /// Returns an error if the mutex is locked, or about to be: its lock may have been given to a
    /// waiting task.
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
        self.try_take_permit()?;
        Ok(MutexGuard { lock: self })
    }

    /// Takes the lock if it is free; the guard holds an `Arc` of the mutex.
    ///
    /// # Errors
    ///
    /// As for [`try_lock`](Self::try_lock).
    pub fn try_lock_owned(self: Arc<Self>) -> Result<OwnedMutexGuard<T>, TryLockError> {
        self.try_take_permit()?;
        self.permit.holder().mark_owned();
        Ok(OwnedMutexGuard { lock: self })
    }

    /// Returns a mutable reference to the value. No lock is needed: `&mut self` shows that there is
    /// no guard.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Consumes the mutex and returns the value.
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.value.into_inner()
    }

    #[inline]
    async fn take_permit(&self) {
        let taken = self.permit.acquire::<{ WaitKind::Mutex as u8 }>(1).await;
        debug_assert!(taken.is_ok(), "the semaphore of a mutex is never closed");
    }

    #[inline]
    fn try_take_permit(&self) -> Result<(), TryLockError> {
        self.permit.try_acquire(1).map_err(|_| TryLockError(()))?;
        self.permit.holder().hold();
        Ok(())
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
