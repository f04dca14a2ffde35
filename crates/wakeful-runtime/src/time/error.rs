//! The errors of timers.
//!
//! ```
//! use wakeful::time::{Duration, error::Elapsed, timeout};
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let late: Elapsed = timeout(Duration::ZERO, std::future::pending::<()>()).await.unwrap_err();
//! let error = std::io::Error::from(late);
//! assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
//! # });
//! ```

use std::fmt;

/// An error of a timer. No function returns it; it exists for code that names Tokio's type.
///
/// ```
/// let error = wakeful::time::error::Error::shutdown();
/// assert!(error.is_shutdown() && !error.is_invalid());
/// ```
#[derive(Debug, Copy, Clone)]
pub struct Error(Kind);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shutdown,
    AtCapacity,
    Invalid,
}

/// An error returned by [`timeout`](super::timeout) when the time has elapsed.
///
/// It converts into an `io::Error` of kind `TimedOut`.
///
/// ```
/// use std::io;
/// use wakeful::time::{Duration, timeout};
///
/// async fn answer() -> io::Result<u32> {
///     Ok(42)
/// }
///
/// async fn answer_soon() -> io::Result<u32> {
///     timeout(Duration::from_secs(1), answer()).await? // `Elapsed` becomes an `io::Error`
/// }
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// assert_eq!(answer_soon().await?, 42);
/// # std::io::Result::Ok(()) }).unwrap();
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl Error {
    /// Creates the error of a runtime that has shut down.
    pub fn shutdown() -> Error {
        Error(Kind::Shutdown)
    }

    /// Returns whether the runtime has shut down.
    pub fn is_shutdown(&self) -> bool {
        self.0 == Kind::Shutdown
    }

    /// Creates the error of a runtime that has no capacity for more timers.
    pub fn at_capacity() -> Error {
        Error(Kind::AtCapacity)
    }

    /// Returns whether the runtime had no capacity for more timers.
    pub fn is_at_capacity(&self) -> bool {
        self.0 == Kind::AtCapacity
    }

    /// Creates the error of a duration that is too long.
    pub fn invalid() -> Error {
        Error(Kind::Invalid)
    }

    /// Returns whether the duration was too long.
    pub fn is_invalid(&self) -> bool {
        self.0 == Kind::Invalid
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Kind::Shutdown => {
                "the timer is shutdown, must be called from the context of Tokio runtime"
            }
            Kind::AtCapacity => "timer is at capacity and cannot create a new entry",
            Kind::Invalid => "timer duration exceeds maximum duration",
        })
    }
}

impl std::error::Error for Error {}

impl Elapsed {
    pub(super) fn new() -> Elapsed {
        Elapsed(())
    }
}

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

impl From<Elapsed> for std::io::Error {
    fn from(_: Elapsed) -> std::io::Error {
        std::io::ErrorKind::TimedOut.into()
    }
}
