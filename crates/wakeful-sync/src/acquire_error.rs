//! Errors of operations that take permits.

use std::fmt;

/// The error of a `try_acquire` that could not take its permits at once.
///
/// ```
/// use wakeful::sync::{Semaphore, TryAcquireError};
///
/// let seats = Semaphore::new(2);
/// let why = seats.try_acquire_many(3).unwrap_err();
/// assert_eq!(why, TryAcquireError::NoPermits);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore has been [closed](crate::Semaphore::close).
    Closed,

    /// Fewer permits are available than were asked for.
    NoPermits,
}

/// The error of an `acquire` on a semaphore that has been [closed](crate::Semaphore::close).
///
/// ```
/// use wakeful::sync::Semaphore;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let seats = Semaphore::new(2);
/// seats.close();
/// let error = seats.acquire().await.unwrap_err();
/// println!("{error}");
/// # });
/// ```
#[derive(Debug)]
pub struct AcquireError(());

impl AcquireError {
    pub(crate) fn closed() -> Self {
        AcquireError(())
    }
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("semaphore closed")
    }
}

impl std::error::Error for AcquireError {}

impl fmt::Display for TryAcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryAcquireError::Closed => "semaphore closed",
            TryAcquireError::NoPermits => "no permits available",
        })
    }
}

impl std::error::Error for TryAcquireError {}
