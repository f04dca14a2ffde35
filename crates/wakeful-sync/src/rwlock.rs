//! A lock for many readers or one writer, whose guards may be held across an `.await`.
//!
//! A semaphore with a permit for each reader there may be. A reader takes one, a writer takes all:
//!
//! ```text
//!   permits of max_readers = 8:   ■■■□□□□□   three readers, five could join
//!                                 ■■■■■■■■   one writer
//!                                 ■■■▒▒▒▒▒   three readers; a writer in line has been dealt the rest,
//!                                            so no reader that comes later gets in before it
//! ```
//!
//! What a guard holds of the permits is its *share*; the share alone gives them back, so that guards
//! can be taken apart and put together anew.

mod owned_read_guard;
mod owned_write_guard;
mod read_guard;
mod share;
mod write_guard;

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

use crate::batch_semaphore::BatchSemaphore;
use crate::blocking::block_on;
use crate::mutex::TryLockError;
use share::{OwnedShare, Share};

pub use owned_read_guard::OwnedRwLockReadGuard;
pub use owned_write_guard::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard};
pub use read_guard::RwLockReadGuard;
pub use write_guard::{RwLockMappedWriteGuard, RwLockWriteGuard};

#[cfg(not(wakeful_loom))]
const MAX_READERS: u32 = u32::MAX >> 3;
#[cfg(wakeful_loom)]
const MAX_READERS: u32 = 10;

/// Lets many read a value at a time, or one write it; who has to wait does not block the thread.
///
/// The lock is fair: it goes to those who asked first. A writer in line is not overtaken by readers that
/// come later, so readers cannot starve it. Beware of taking a second read lock while holding one: if
/// a writer has come in between, the two wait for each other forever.
///
/// Unlike `std`'s it is not poisoned when a holder panics; it is simply unlocked.
///
/// # Examples
///
/// ```
/// use wakeful::sync::RwLock;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let lock = RwLock::new(5);
/// {
///     let one = lock.read().await;
///     let other = lock.read().await;
///     assert_eq!(*one + *other, 10);
/// }
/// *lock.write().await += 1;
/// assert_eq!(*lock.read().await, 6);
/// # });
/// ```
pub struct RwLock<T: ?Sized> {
    max_readers: u32,
    permits: BatchSemaphore,
    value: UnsafeCell<T>,
}

// SAFETY: sending the lock sends the value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: readers share the value, and writers send it from one to the next.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> RwLock<T> {
    /// A lock around `value`, unlocked.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T>
    where
        T: Sized,
    {
        RwLock::with_max_readers(value, MAX_READERS)
    }

    /// A lock around `value` that so many may read at a time.
    ///
    /// ```
    /// use wakeful::sync::RwLock;
    ///
    /// let lock = RwLock::with_max_readers(5, 1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_read().is_err());
    /// ```
    ///
    /// # Panics
    ///
    /// If `max_reads` is 0 or more than `u32::MAX >> 3`.
    #[track_caller]
    pub fn with_max_readers(value: T, max_reads: u32) -> RwLock<T>
    where
        T: Sized,
    {
        assert_ne!(max_reads, 0, "a RwLock may not be created with 0 readers");
        assert!(
            max_reads <= MAX_READERS,
            "a RwLock may not be created with more than {MAX_READERS} readers"
        );
        let permits = BatchSemaphore::new(max_reads as usize);
        RwLock { max_readers: max_reads, permits, value: UnsafeCell::new(value) }
    }

    /// A lock around `value`, for a `static`.
    ///
    /// ```
    /// use wakeful::sync::RwLock;
    ///
    /// static LIMIT: RwLock<u32> = RwLock::const_new(5);
    /// assert_eq!(*LIMIT.try_read().unwrap(), 5);
    /// ```
    #[cfg(not(wakeful_loom))]
    pub const fn const_new(value: T) -> RwLock<T>
    where
        T: Sized,
    {
        RwLock::const_with_max_readers(value, MAX_READERS)
    }

    /// A lock around `value` that so many may read at a time, for a `static`.
    ///
    /// # Panics
    ///
    /// If `max_reads` is 0 or more than `u32::MAX >> 3`.
    #[cfg(not(wakeful_loom))]
    pub const fn const_with_max_readers(value: T, max_reads: u32) -> RwLock<T>
    where
        T: Sized,
    {
        assert!(max_reads != 0, "a RwLock may not be created with 0 readers");
        assert!(max_reads <= MAX_READERS, "a RwLock may not be created with so many readers");
        let permits = BatchSemaphore::const_new(max_reads as usize);
        RwLock { max_readers: max_reads, permits, value: UnsafeCell::new(value) }
    }

    /// Waits until the value can be read.
    ///
    /// # Cancel safety
    ///
    /// Those who wait stand in a queue. Dropping the future gives up its place and loses nothing else.
    pub async fn read(&self) -> RwLockReadGuard<'_, T> {
        self.take_permits(1).await;
        RwLockReadGuard::new(Share::new(&self.permits, 1), self.value.get())
    }

    /// Waits on this thread, which sleeps meanwhile, until the value can be read.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        block_on("`RwLock::blocking_read`", "read().await", self.read())
    }

    /// As [`read`](Self::read), with a guard that keeps the lock alive.
    ///
    /// # Cancel safety
    ///
    /// Those who wait stand in a queue. Dropping the future gives up its place and loses nothing else.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wakeful::sync::RwLock;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let prices = Arc::new(RwLock::new(vec![3, 4]));
    /// let reader = prices.clone().read_owned().await;
    /// let sum = wakeful::spawn(async move { reader.iter().sum::<i32>() });
    /// assert_eq!(sum.await.unwrap(), 7);
    /// # });
    /// ```
    pub async fn read_owned(self: Arc<Self>) -> OwnedRwLockReadGuard<T> {
        self.take_permits(1).await;
        let value = self.value.get();
        OwnedRwLockReadGuard::new(OwnedShare::new(self, 1), value)
    }

    /// Locks for reading, if that is possible right now.
    ///
    /// ```
    /// use wakeful::sync::RwLock;
    ///
    /// let lock = RwLock::new(1);
    /// let reader = lock.try_read().unwrap();
    /// assert!(lock.try_read().is_ok());
    /// assert!(lock.try_write().is_err());
    /// ```
    pub fn try_read(&self) -> Result<RwLockReadGuard<'_, T>, TryLockError> {
        self.try_take_permits(1)?;
        Ok(RwLockReadGuard::new(Share::new(&self.permits, 1), self.value.get()))
    }

    /// As [`try_read`](Self::try_read), with a guard that keeps the lock alive.
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_take_permits(1)?;
        let value = self.value.get();
        Ok(OwnedRwLockReadGuard::new(OwnedShare::new(self, 1), value))
    }

    /// Waits until the value can be written.
    ///
    /// # Cancel safety
    ///
    /// Those who wait stand in a queue. Dropping the future gives up its place and loses nothing else.
    pub async fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.take_permits(self.max_readers).await;
        RwLockWriteGuard::new(Share::new(&self.permits, self.max_readers), self.value.get())
    }

    /// Waits on this thread, which sleeps meanwhile, until the value can be written.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        block_on("`RwLock::blocking_write`", "write().await", self.write())
    }

    /// As [`write`](Self::write), with a guard that keeps the lock alive.
    ///
    /// # Cancel safety
    ///
    /// Those who wait stand in a queue. Dropping the future gives up its place and loses nothing else.
    pub async fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        let all = self.max_readers;
        self.take_permits(all).await;
        let value = self.value.get();
        OwnedRwLockWriteGuard::new(OwnedShare::new(self, all), value)
    }

    /// Locks for writing, if that is possible right now.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_take_permits(self.max_readers)?;
        Ok(RwLockWriteGuard::new(Share::new(&self.permits, self.max_readers), self.value.get()))
    }

    /// As [`try_write`](Self::try_write), with a guard that keeps the lock alive.
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        let all = self.max_readers;
        self.try_take_permits(all)?;
        let value = self.value.get();
        Ok(OwnedRwLockWriteGuard::new(OwnedShare::new(self, all), value))
    }

    /// The value. No lock is needed: the exclusive borrow shows that nobody else can hold one.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value; the lock is gone.
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.value.into_inner()
    }

    #[inline]
    async fn take_permits(&self, n: u32) {
        let taken = self.permits.acquire(n as usize).await;
        debug_assert!(taken.is_ok(), "nobody closes the semaphore of a lock");
    }

    #[inline]
    fn try_take_permits(&self, n: u32) -> Result<(), TryLockError> {
        self.permits.try_acquire(n as usize).map_err(|_| TryLockError(()))
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => shown.field("data", &&*guard),
            Err(_) => shown.field("data", &format_args!("<locked>")),
        };
        shown.finish()
    }
}

#[cfg(all(test, wakeful_loom))]
#[path = "rwlock/tests/loom.rs"]
mod loom;
