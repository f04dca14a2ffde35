//! The counting semaphore users see: permits as guards.

mod permit;

use std::sync::Arc;

use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::batch_semaphore::{BatchSemaphore, MAX_PERMITS};
use crate::blocking::block_on;

pub use permit::{OwnedSemaphorePermit, SemaphorePermit};

/// Counts permits that asynchronous code takes, holds and gives back.
///
/// Use it to bound how many of something happen at a time: open files, requests to a server, jobs in
/// flight. [`acquire`](Self::acquire) waits for a permit; dropping what it returns gives the permit back.
///
/// The semaphore is fair: permits go to those who asked first. That holds for
/// [`acquire_many`](Self::acquire_many) too: one that waits for many permits is not overtaken by others
/// that ask for few, even if there are enough for them.
///
/// # Examples
///
/// At most two at a time:
///
/// ```
/// use wakeful::sync::Semaphore;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let semaphore = Semaphore::new(2);
/// let first = semaphore.acquire().await.unwrap();
/// let second = semaphore.acquire().await.unwrap();
/// assert!(semaphore.try_acquire().is_err());
///
/// drop(first);
/// assert!(semaphore.try_acquire().is_ok());
/// # });
/// ```
#[derive(Debug)]
pub struct Semaphore {
    permits: BatchSemaphore,
}

impl Semaphore {
    /// How many permits a semaphore can have: `usize::MAX >> 3`. More make it panic.
    pub const MAX_PERMITS: usize = MAX_PERMITS;

    /// A semaphore with so many permits.
    ///
    /// # Panics
    ///
    /// If `permits` exceeds [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Semaphore { permits: BatchSemaphore::new(permits) }
    }

    /// A semaphore with so many permits, for a `static`.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// static CONNECTIONS: Semaphore = Semaphore::const_new(10);
    /// assert_eq!(CONNECTIONS.available_permits(), 10);
    /// ```
    ///
    /// # Panics
    ///
    /// If `permits` exceeds [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[cfg(not(wakeful_loom))]
    pub const fn const_new(permits: usize) -> Self {
        Semaphore { permits: BatchSemaphore::const_new(permits) }
    }

    /// How many permits are at hand right now.
    pub fn available_permits(&self) -> usize {
        self.permits.available_permits()
    }

    /// Adds `n` new permits.
    ///
    /// # Panics
    ///
    /// If there would be more than [`MAX_PERMITS`](Self::MAX_PERMITS).
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let tokens = Semaphore::new(0); // a bucket that somebody else fills
    /// let refill = async { tokens.add_permits(2) };
    /// let (spent, ()) = wakeful::join!(tokens.acquire_many(2), refill);
    /// spent.unwrap().forget(); // tokens are not given back
    /// assert_eq!(tokens.available_permits(), 0);
    /// # });
    /// ```
    pub fn add_permits(&self, n: usize) {
        self.permits.release(n);
    }

    /// Removes up to `n` of the permits at hand, and returns how many it removed.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// let workers = Semaphore::new(4);
    /// let _busy = workers.try_acquire().unwrap();
    /// assert_eq!(workers.forget_permits(10), 3);
    /// assert_eq!(workers.available_permits(), 0);
    /// ```
    pub fn forget_permits(&self, n: usize) -> usize {
        self.permits.forget_permits(n)
    }

    /// Waits for a permit.
    ///
    /// An error means that the semaphore is [closed](Self::close).
    ///
    /// # Cancel safety
    ///
    /// Waiters stand in a queue. Dropping the future gives up its place and loses nothing else.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = Semaphore::new(2);
    /// let permit = semaphore.acquire().await.unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// drop(permit);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// # });
    /// ```
    pub async fn acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.permits.acquire(1).await?;
        Ok(SemaphorePermit::new(self, 1))
    }

    /// Waits for `n` permits.
    ///
    /// An error means that the semaphore is [closed](Self::close).
    ///
    /// # Cancel safety
    ///
    /// Waiters stand in a queue. Dropping the future gives up its place and loses nothing else.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = Semaphore::new(5);
    /// let permits = semaphore.acquire_many(3).await.unwrap();
    /// assert_eq!(permits.num_permits(), 3);
    /// assert_eq!(semaphore.available_permits(), 2);
    /// # });
    /// ```
    pub async fn acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.permits.acquire(n as usize).await?;
        Ok(SemaphorePermit::new(self, n as usize))
    }

    /// Takes a permit if there is one.
    ///
    /// ```
    /// use wakeful::sync::{Semaphore, TryAcquireError};
    ///
    /// let semaphore = Semaphore::new(1);
    /// let permit = semaphore.try_acquire().unwrap();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::NoPermits);
    /// semaphore.close();
    /// assert_eq!(semaphore.try_acquire().unwrap_err(), TryAcquireError::Closed);
    /// ```
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_acquire(1)?;
        Ok(SemaphorePermit::new(self, 1))
    }

    /// Takes `n` permits if there are so many.
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(SemaphorePermit::new(self, n as usize))
    }

    /// Waits for a permit on this thread, which sleeps meanwhile.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(2);
    /// let _permit = semaphore.blocking_acquire().unwrap();
    /// assert_eq!(semaphore.available_permits(), 1);
    /// ```
    #[track_caller]
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_on("`Semaphore::blocking_acquire`", "acquire().await", self.acquire())
    }

    /// Waits for `n` permits on this thread, which sleeps meanwhile.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_on(
            "`Semaphore::blocking_acquire_many`",
            "acquire_many(n).await",
            self.acquire_many(n),
        )
    }

    /// Waits for a permit that keeps the semaphore alive, and can go wherever its holder goes.
    ///
    /// An error means that the semaphore is [closed](Self::close).
    ///
    /// # Cancel safety
    ///
    /// Waiters stand in a queue. Dropping the future gives up its place and loses nothing else.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wakeful::sync::Semaphore;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let semaphore = Arc::new(Semaphore::new(1));
    /// let permit = semaphore.clone().acquire_owned().await.unwrap();
    /// let worker = std::thread::spawn(move || drop(permit));
    /// let _again = semaphore.acquire().await.unwrap();
    /// # worker.join().unwrap();
    /// # });
    /// ```
    pub async fn acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.acquire(1).await?;
        Ok(OwnedSemaphorePermit::new(self, 1))
    }

    /// Waits for `n` permits that keep the semaphore alive.
    ///
    /// An error means that the semaphore is [closed](Self::close).
    ///
    /// # Cancel safety
    ///
    /// Waiters stand in a queue. Dropping the future gives up its place and loses nothing else.
    pub async fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.acquire(n as usize).await?;
        Ok(OwnedSemaphorePermit::new(self, n as usize))
    }

    /// Takes a permit that keeps the semaphore alive, if there is one.
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(1)?;
        Ok(OwnedSemaphorePermit::new(self, 1))
    }

    /// Takes `n` permits that keep the semaphore alive, if there are so many.
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(OwnedSemaphorePermit::new(self, n as usize))
    }

    /// Waits on this thread for a permit that keeps the semaphore alive.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        let called = "`Semaphore::blocking_acquire_owned`";
        block_on(called, "acquire_owned().await", self.acquire_owned())
    }

    /// Waits on this thread for `n` permits that keep the semaphore alive.
    ///
    /// # Panics
    ///
    /// On a thread that is driving asynchronous tasks.
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let called = "`Semaphore::blocking_acquire_many_owned`";
        block_on(called, "acquire_many_owned(n).await", self.acquire_many_owned(n))
    }

    /// Gives out no more permits, and lets all who wait know.
    ///
    /// Permits that are held stay valid.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let seats = Semaphore::new(0);
    /// let (waiting, ()) = wakeful::join!(seats.acquire(), async { seats.close() });
    /// assert!(waiting.is_err());
    /// assert!(seats.is_closed());
    /// # });
    /// ```
    pub fn close(&self) {
        self.permits.close();
    }

    /// Whether the semaphore has been closed.
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }
}
