//! Why no permit was given.

use std::fmt;

/// No permit could be taken, and the call does not wait.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// The semaphore is [closed](crate::Semaphore::close).
    Closed,

    /// There are not enough permits at the moment.
    NoPermits,
}

/// The semaphore is [closed](crate::Semaphore::close), so no permit will ever come.
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
