//! Guards for the permits of a [`Semaphore`].

use std::sync::Arc;

use super::Semaphore;
use wakeful_base::waiting::holdings;

/// Permits of a [`Semaphore`], given back when dropped.
///
/// ```
/// use wakeful::sync::Semaphore;
///
/// let seats = Semaphore::new(3);
/// let permit = seats.try_acquire_many(2).unwrap();
/// assert_eq!((permit.num_permits(), seats.available_permits()), (2, 1));
/// drop(permit);
/// assert_eq!(seats.available_permits(), 3);
/// ```
#[must_use = "a permit that is not kept is given back at once"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct SemaphorePermit<'a> {
    semaphore: &'a Semaphore,
    permits: usize,
}

/// Permits of a [`Semaphore`], given back when dropped, with an `Arc` of the semaphore.
///
/// A permit that is moved into a task limits how many such tasks run at a time:
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
/// use wakeful::{sync::Semaphore, task::JoinSet};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let slots = Arc::new(Semaphore::new(2));
/// let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
/// let mut jobs = JoinSet::new();
/// for _ in 0..6 {
///     let permit = slots.clone().acquire_owned().await.unwrap();
///     let (running, most) = (running.clone(), most.clone());
///     jobs.spawn(async move {
///         most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
///         wakeful::task::yield_now().await;
///         running.fetch_sub(1, SeqCst);
///         drop(permit);
///     });
/// }
/// jobs.join_all().await;
/// assert!(most.load(SeqCst) <= 2);
/// # });
/// ```
#[must_use = "a permit that is not kept is given back at once"]
#[clippy::has_significant_drop]
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    semaphore: Arc<Semaphore>,
    permits: usize,
}

/// Moves `other`'s permits to `own`.
#[track_caller]
fn move_permits(own: &mut usize, other: &mut usize, same_semaphore: bool) {
    assert!(same_semaphore, "merging permits from different semaphore instances");
    *own = own.checked_add(*other).expect("number of permits overflowed");
    *other = 0;
}

impl<'a> SemaphorePermit<'a> {
    /// Wraps permits that the caller has just taken.
    #[inline]
    pub(super) fn acquired(semaphore: &'a Semaphore, permits: usize) -> Self {
        if holdings::is_watched() {
            holdings::acquired(semaphore.address(), permits as u64, false);
        }
        SemaphorePermit { semaphore, permits }
    }

    /// Drops the permits without giving them back, so that the semaphore has fewer from now on.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(10);
    /// semaphore.try_acquire_many(5).unwrap().forget();
    /// assert_eq!(semaphore.available_permits(), 5);
    /// ```
    pub fn forget(mut self) {
        if holdings::is_watched() {
            holdings::forgotten(self.semaphore.address(), self.permits as u64, true);
        }
        self.permits = 0;
    }

    /// Merges `other` into this guard, which gives all the permits back when it is dropped.
    ///
    /// # Panics
    ///
    /// Panics if the two come from different semaphores.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// let mut permits = semaphore.try_acquire().unwrap();
    /// permits.merge(semaphore.try_acquire_many(2).unwrap());
    /// assert_eq!(permits.num_permits(), 3);
    /// ```
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        let same = std::ptr::eq(self.semaphore, other.semaphore);
        move_permits(&mut self.permits, &mut other.permits, same);
    }

    /// Splits `n` permits off into a new guard; returns `None` if there are fewer.
    ///
    /// ```
    /// use wakeful::sync::Semaphore;
    ///
    /// let semaphore = Semaphore::new(3);
    /// let mut permits = semaphore.try_acquire_many(3).unwrap();
    /// let one = permits.split(1).unwrap();
    /// assert_eq!((permits.num_permits(), one.num_permits()), (2, 1));
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(SemaphorePermit { semaphore: self.semaphore, permits: n })
    }

    /// Returns the semaphore that the permits came from.
    pub fn semaphore(&self) -> &Semaphore {
        self.semaphore
    }

    /// Returns how many permits this guard holds.
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl Drop for SemaphorePermit<'_> {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}

impl OwnedSemaphorePermit {
    /// Wraps permits that the caller has just taken.
    #[inline]
    pub(super) fn acquired(semaphore: Arc<Semaphore>, permits: usize) -> Self {
        if holdings::is_watched() {
            holdings::acquired(semaphore.address(), permits as u64, true);
        }
        OwnedSemaphorePermit { semaphore, permits }
    }

    /// Drops the permits without giving them back, so that the semaphore has fewer from now on.
    pub fn forget(mut self) {
        if holdings::is_watched() {
            holdings::forgotten(self.semaphore.address(), self.permits as u64, true);
        }
        self.permits = 0;
    }

    /// Merges `other` into this guard, which gives all the permits back when it is dropped.
    ///
    /// # Panics
    ///
    /// Panics if the two come from different semaphores.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        let same = Arc::ptr_eq(&self.semaphore, &other.semaphore);
        move_permits(&mut self.permits, &mut other.permits, same);
    }

    /// Splits `n` permits off into a new guard with its own `Arc`; returns `None` if there are
    /// fewer.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use wakeful::sync::Semaphore;
    ///
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// let memory = Arc::new(Semaphore::new(100));
    /// let mut whole = memory.clone().acquire_many_owned(100).await.unwrap();
    /// let part = whole.split(30).unwrap();
    /// let task = wakeful::spawn(async move { part.num_permits() }); // gives its 30 back
    /// assert_eq!(task.await.unwrap(), 30);
    /// assert_eq!((whole.num_permits(), memory.available_permits()), (70, 30));
    /// # });
    /// ```
    pub fn split(&mut self, n: usize) -> Option<Self> {
        self.permits = self.permits.checked_sub(n)?;
        Some(OwnedSemaphorePermit { semaphore: self.semaphore.clone(), permits: n })
    }

    /// Returns the semaphore that the permits came from.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.semaphore
    }

    /// Returns how many permits this guard holds.
    pub fn num_permits(&self) -> usize {
        self.permits
    }
}

impl Drop for OwnedSemaphorePermit {
    #[inline]
    fn drop(&mut self) {
        self.semaphore.give_back(self.permits);
    }
}
