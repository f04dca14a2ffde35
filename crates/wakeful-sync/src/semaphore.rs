//! [`Semaphore`]: the public semaphore, which hands out its permits as guards
//! (`semaphore/permit.rs`).
//!
//! `batch_semaphore.rs` does the counting and waiting.

mod permit;

use std::sync::Arc;

use crate::acquire_error::{AcquireError, TryAcquireError};
use crate::batch_semaphore::{BatchSemaphore, MAX_PERMITS};
use crate::blocking::block_on;
use crate::holder::NotTracked;
use wakeful_base::waiting::WaitKind;

pub use permit::{OwnedSemaphorePermit, SemaphorePermit};

const SEMAPHORE: u8 = WaitKind::Semaphore as u8;

/// A counting semaphore whose permits asynchronous code can wait for.
///
/// Use it to limit how many operations run at a time: open files, requests to a server, jobs in
/// flight. [`acquire`](Self::acquire) waits for a permit and returns a guard, which gives the
/// permit back when it is dropped.
///
/// The semaphore is fair: permits go to tasks in the order in which they asked. This holds for
/// [`acquire_many`](Self::acquire_many) as well: a task that waits for many permits is not
/// overtaken by later tasks that ask for few, even if enough permits are available for those.
///
/// # Examples
///
/// At most two operations at a time:
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
    /// The greatest number of permits a semaphore can have: `usize::MAX >> 3`.
    pub const MAX_PERMITS: usize = MAX_PERMITS;

    /// Creates a semaphore with `permits` permits.
    ///
    /// # Panics
    ///
    /// Panics if `permits` exceeds [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[track_caller]
    pub fn new(permits: usize) -> Self {
        Semaphore { permits: BatchSemaphore::new(permits, NotTracked) }
    }

    /// Creates a semaphore with `permits` permits, in a `const` context such as a `static`.
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
    /// Panics if `permits` exceeds [`MAX_PERMITS`](Self::MAX_PERMITS).
    #[cfg(not(wakeful_loom))]
    pub const fn const_new(permits: usize) -> Self {
        Semaphore { permits: BatchSemaphore::const_new(permits, NotTracked) }
    }

    /// Returns how many permits are available at the moment.
    pub fn available_permits(&self) -> usize {
        self.permits.available_permits()
    }

    /// Adds `n` new permits.
    ///
    /// # Panics
    ///
    /// Panics if more than [`MAX_PERMITS`](Self::MAX_PERMITS) would be available.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let tokens = Semaphore::new(0); // a token bucket, refilled by another future
    /// let refill = async { tokens.add_permits(2) };
    /// let (spent, ()) = wakeful::join!(tokens.acquire_many(2), refill);
    /// spent.unwrap().forget(); // tokens are not given back
    /// assert_eq!(tokens.available_permits(), 0);
    /// # });
    /// ```
    pub fn add_permits(&self, n: usize) {
        self.permits.release(n);
    }

    /// Removes up to `n` of the available permits for good and returns how many it removed.
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
    /// # Errors
    ///
    /// Returns an error if the semaphore is [closed](Self::close), now or during the wait.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and
    /// permits it was already given go to the next task.
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
        self.permits.acquire::<SEMAPHORE>(1).await?;
        Ok(SemaphorePermit::new(self, 1))
    }

    /// Waits for `n` permits.
    ///
    /// # Errors
    ///
    /// Returns an error if the semaphore is [closed](Self::close), now or during the wait.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and
    /// permits it was already given go to the next task.
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
        self.permits.acquire::<SEMAPHORE>(n as usize).await?;
        Ok(SemaphorePermit::new(self, n as usize))
    }

    /// Takes a permit if one is available now.
    ///
    /// # Errors
    ///
    /// [`TryAcquireError::Closed`] if the semaphore is [closed](Self::close), otherwise
    /// [`TryAcquireError::NoPermits`] if no permit is available.
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

    /// Takes `n` permits if as many are available now.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(SemaphorePermit::new(self, n as usize))
    }

    /// Waits for a permit, blocking the current thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the semaphore is [closed](Self::close), now or during the wait.
    ///
    /// # Panics
    ///
    /// Panics if the current thread is running asynchronous tasks. Use [`acquire`](Self::acquire)
    /// there.
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

    /// Waits for `n` permits, blocking the current thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the semaphore is [closed](Self::close), now or during the wait.
    ///
    /// # Panics
    ///
    /// Panics if the current thread is running asynchronous tasks. Use
    /// [`acquire_many`](Self::acquire_many) there.
    #[track_caller]
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        block_on(
            "`Semaphore::blocking_acquire_many`",
            "acquire_many(n).await",
            self.acquire_many(n),
        )
    }

    /// Waits for a permit and returns it as a guard that holds an `Arc` of the semaphore.
    ///
    /// The guard borrows nothing, so it can be moved into a task or a thread.
    ///
    /// # Errors
    ///
    /// Returns an error if the semaphore is [closed](Self::close), now or during the wait.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and
    /// permits it was already given go to the next task.
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
        self.permits.acquire::<SEMAPHORE>(1).await?;
        Ok(OwnedSemaphorePermit::new(self, 1))
    }

    /// Waits for `n` permits and returns them as a guard that holds an `Arc` of the semaphore.
    ///
    /// # Errors
    ///
    /// Returns an error if the semaphore is [closed](Self::close), now or during the wait.
    ///
    /// # Cancel safety
    ///
    /// This method is cancel safe: if the future is dropped, it loses its place in the queue, and
    /// permits it was already given go to the next task.
    pub async fn acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.permits.acquire::<SEMAPHORE>(n as usize).await?;
        Ok(OwnedSemaphorePermit::new(self, n as usize))
    }

    /// Takes a permit if one is available now; the guard holds an `Arc` of the semaphore.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(1)?;
        Ok(OwnedSemaphorePermit::new(self, 1))
    }

    /// Takes `n` permits if as many are available now; the guard holds an `Arc` of the semaphore.
    ///
    /// # Errors
    ///
    /// As for [`try_acquire`](Self::try_acquire).
    pub fn try_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.permits.try_acquire(n as usize)?;
        Ok(OwnedSemaphorePermit::new(self, n as usize))
    }

    /// Waits for a permit, blocking the current thread; the guard holds an `Arc` of the semaphore.
    ///
    /// # Errors
    ///
    /// Returns an error if the semaphore is [closed](Self::close), now or during the wait.
    ///
    /// # Panics
    ///
    /// Panics if the current thread is running asynchronous tasks. Use
    /// [`acquire_owned`](Self::acquire_owned) there.
    #[track_caller]
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        let called = "`Semaphore::blocking_acquire_owned`";
        block_on(called, "acquire_owned().await", self.acquire_owned())
    }

    /// Waits for `n` permits, blocking the current thread; the guard holds an `Arc` of the
    /// semaphore.
    ///
    /// # Errors
    ///
    /// Returns an error if the semaphore is [closed](Self::close), now or during the wait.
    ///
    /// # Panics
    ///
    /// Panics if the current thread is running asynchronous tasks. Use
    /// [`acquire_many_owned`](Self::acquire_many_owned) there.
    #[track_caller]
    pub fn blocking_acquire_many_owned(
        self: Arc<Self>,
        n: u32,
    ) -> Result<OwnedSemaphorePermit, AcquireError> {
        let called = "`Semaphore::blocking_acquire_many_owned`";
        block_on(called, "acquire_many_owned(n).await", self.acquire_many_owned(n))
    }

    /// Closes the semaphore: it gives out no more permits, and all waits end with an error.
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

    /// Returns whether the semaphore has been closed.
    pub fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }
}
