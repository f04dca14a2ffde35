//! [`RwLock`]: a lock for many readers or one writer, whose guards may be held across an `.await`.
//!
//! It is a semaphore (`batch_semaphore.rs`) with one permit for each possible reader. A reader
//! takes one permit, a writer takes all:
//!
//! ```text
//!   permits of max_readers = 8:   ■■■□□□□□   three readers, five more could join
//!                                 ■■■■■■■■   one writer
//!                                 ■■■▒▒▒▒▒   three readers; the rest is assigned to a queued
//!                                            writer, so no later reader gets in before it
//! ```
//!
//! A guard keeps its permits in a field (`rwlock/held_permits.rs`), which gives them back when it
//! is dropped. So guards need no `Drop` of their own and can be converted field by field.
//!
//! `rwlock/read_guard.rs` and `rwlock/write_guard.rs` have the guards that borrow the lock,
//! `rwlock/owned_read_guard.rs` and `rwlock/owned_write_guard.rs` those that hold an `Arc`.

mod held_permits;
mod owned_read_guard;
mod owned_write_guard;
mod read_guard;
mod write_guard;

use std::cell::UnsafeCell;
use std::fmt;
use std::sync::Arc;

use crate::batch_semaphore::BatchSemaphore;
use crate::blocking::block_on;
use crate::holder::{HolderWord, TrackHolder};
use crate::mutex::TryLockError;
use held_permits::{HeldPermits, OwnedHeldPermits};

use wakeful_base::waiting::WaitKind;

const READ: u8 = WaitKind::RwLockRead as u8;
const WRITE: u8 = WaitKind::RwLockWrite as u8;

pub use owned_read_guard::OwnedRwLockReadGuard;
pub use owned_write_guard::{OwnedRwLockMappedWriteGuard, OwnedRwLockWriteGuard};
pub use read_guard::RwLockReadGuard;
pub use write_guard::{RwLockMappedWriteGuard, RwLockWriteGuard};

/// The maximum number of readers of a lock. The same limit as Tokio's.
#[cfg(not(wakeful_loom))]
const MAX_READERS: u32 = u32::MAX >> 3;
/// The maximum number of readers of a lock in a model.
#[cfg(wakeful_loom)]
const MAX_READERS: u32 = 10;

/// A lock for asynchronous code that many readers or one writer can hold at a time.
///
/// [`read`](Self::read) and [`write`](Self::write) wait without blocking the thread, and the guards
/// may be held across an `.await`.
///
/// The lock is fair: tasks get it in the order in which they asked. A waiting writer is not
/// overtaken by later readers, so readers cannot starve it. This also means that a task must not
/// take a second read lock while it holds one: if a writer has started to wait in between, the two
/// wait for each other forever.
///
/// The lock is not poisoned: if a task panics while it holds a guard, the lock is simply released.
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
    permits: BatchSemaphore<HolderWord>,
    value: UnsafeCell<T>,
}

// SAFETY: to send the lock is to send the value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: readers share the value, which takes `T: Sync`; writers pass it from one thread to
// another, which takes `T: Send`.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> RwLock<T> {
    /// Creates an unlocked lock around `value`.
    #[track_caller]
    pub fn new(value: T) -> RwLock<T>
    where
        T: Sized,
    {
        RwLock::with_max_readers(value, MAX_READERS)
    }

    /// Creates a lock around `value` that at most `max_reads` readers can hold at a time.
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
    /// Panics if `max_reads` is 0 or more than `u32::MAX >> 3`.
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
        let permits = BatchSemaphore::new(max_reads as usize, HolderWord::new());
        RwLock { max_readers: max_reads, permits, value: UnsafeCell::new(value) }
    }

    /// Creates an unlocked lock around `value`, in a `const` context such as a `static`.
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

    /// Creates a lock for at most `max_reads` readers, in a `const` context such as a `static`.
    ///
    /// # Panics
    ///
    /// Panics if `max_reads` is 0 or more than `u32::MAX >> 3`.
    #[cfg(not(wakeful_loom))]
    pub const fn const_with_max_readers(value: T, max_reads: u32) -> RwLock<T>
    where
        T: Sized,
    {
        assert!(max_reads != 0, "a RwLock may not be created with 0 readers");
        assert!(
            max_reads <= MAX_READERS,
            "a RwLock may not be created with more than `u32::MAX >> 3` readers"
        );
        let permits = BatchSemaphore::const_new(max_reads as usize, HolderWord::new());
        RwLock { max_readers: max_reads, permits, value: UnsafeCell::new(value) }
    }

    /// Waits for read access.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and
    /// access it was already given is released.
    pub async fn read(&self) -> RwLockReadGuard<'_, T> {
        self.take_permits::<READ>(1).await;
        // SAFETY: the permit has been taken, so no writer accesses the value.
        unsafe { RwLockReadGuard::new(HeldPermits::new(&self.permits, 1), self.value.get()) }
    }

    /// Waits for read access, blocking the current thread.
    ///
    /// # Panics
    ///
    /// Panics if the current thread is running asynchronous tasks. Use [`read`](Self::read) there.
    #[track_caller]
    pub fn blocking_read(&self) -> RwLockReadGuard<'_, T> {
        block_on("`RwLock::blocking_read`", "read().await", self.read())
    }

    /// Waits for read access; the guard holds an `Arc` of the lock.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and
    /// access it was already given is released.
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
        self.take_permits::<READ>(1).await;
        let value = self.value.get();
        // SAFETY: the permit has been taken, so no writer accesses the value.
        unsafe { OwnedRwLockReadGuard::new(OwnedHeldPermits::new(self, 1), value) }
    }

    /// Takes read access if that is possible now.
    ///
    /// # Errors
    ///
    /// Returns an error if a writer holds the lock or waits for it, or if the maximum number of
    /// readers hold it.
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
        let held = HeldPermits::new(&self.permits, 1);
        // SAFETY: the permit has been taken, so no writer accesses the value.
        Ok(unsafe { RwLockReadGuard::new(held, self.value.get()) })
    }

    /// Takes read access if that is possible now; the guard holds an `Arc` of the lock.
    ///
    /// # Errors
    ///
    /// As for [`try_read`](Self::try_read).
    pub fn try_read_owned(self: Arc<Self>) -> Result<OwnedRwLockReadGuard<T>, TryLockError> {
        self.try_take_permits(1)?;
        let value = self.value.get();
        // SAFETY: the permit has been taken, so no writer accesses the value.
        Ok(unsafe { OwnedRwLockReadGuard::new(OwnedHeldPermits::new(self, 1), value) })
    }

    /// Waits for write access.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and
    /// access it was already given is released.
    pub async fn write(&self) -> RwLockWriteGuard<'_, T> {
        self.take_permits::<WRITE>(self.max_readers).await;
        let held = HeldPermits::new(&self.permits, self.max_readers);
        // SAFETY: all permits have been taken, so no other guard accesses the value.
        unsafe { RwLockWriteGuard::new(held, self.value.get()) }
    }

    /// Waits for write access, blocking the current thread.
    ///
    /// # Panics
    ///
    /// Panics if the current thread is running asynchronous tasks. Use [`write`](Self::write)
    /// there.
    #[track_caller]
    pub fn blocking_write(&self) -> RwLockWriteGuard<'_, T> {
        block_on("`RwLock::blocking_write`", "write().await", self.write())
    }

    /// Waits for write access; the guard holds an `Arc` of the lock.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and
    /// access it was already given is released.
    pub async fn write_owned(self: Arc<Self>) -> OwnedRwLockWriteGuard<T> {
        let all = self.max_readers;
        self.take_permits::<WRITE>(all).await;
        self.permits.holder().mark_owned();
        let value = self.value.get();
        // SAFETY: all permits have been taken, so no other guard accesses the value.
        unsafe { OwnedRwLockWriteGuard::new(OwnedHeldPermits::new(self, all), value) }
    }

    /// Takes write access if that is possible now.
    ///
    /// # Errors
    ///
    /// Returns an error if a reader or writer holds the lock, or a task waits for it.
    pub fn try_write(&self) -> Result<RwLockWriteGuard<'_, T>, TryLockError> {
        self.try_take_permits(self.max_readers)?;
        self.permits.holder().hold();
        let held = HeldPermits::new(&self.permits, self.max_readers);
        // SAFETY: all permits have been taken, so no other guard accesses the value.
        Ok(unsafe { RwLockWriteGuard::new(held, self.value.get()) })
    }

    /// Takes write access if that is possible now; the guard holds an `Arc` of the lock.
    ///
    /// # Errors
    ///
    /// As for [`try_write`](Self::try_write).
    pub fn try_write_owned(self: Arc<Self>) -> Result<OwnedRwLockWriteGuard<T>, TryLockError> {
        let all = self.max_readers;
        self.try_take_permits(all)?;
        self.permits.holder().hold();
        self.permits.holder().mark_owned();
        let value = self.value.get();
        // SAFETY: all permits have been taken, so no other guard accesses the value.
        Ok(unsafe { OwnedRwLockWriteGuard::new(OwnedHeldPermits::new(self, all), value) })
    }

    /// Returns a mutable reference to the value. No lock is needed: `&mut self` shows that there is
    /// no guard.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// Consumes the lock and returns the value.
    pub fn into_inner(self) -> T
    where
        T: Sized,
    {
        self.value.into_inner()
    }

    #[inline]
    async fn take_permits<const KIND: u8>(&self, n: u32) {
        let taken = self.permits.acquire::<KIND>(n as usize).await;
        debug_assert!(taken.is_ok(), "the semaphore of a lock is never closed");
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
