//! Why no permit was given.

use std::fmt;

/// No permit could be taken, and the call does not wait.
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
    /// The semaphore is [closed](crate::Semaphore::close).
    Closed,

    /// There are not enough permits at the moment.
    NoPermits,
}

/// The semaphore is [closed](crate::Semaphore::close), so no permit will ever come.
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
