//! Sending with a limit to how long it may wait: the one thing here that needs a runtime.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::Sender;

impl<T> Sender<T> {
    /// Sends `value`, after waiting for room if there is none, for `timeout` at most.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it is ready, the value has not been sent and is dropped with it.
    ///
    /// # Panics
    ///
    /// Outside of a runtime with time enabled.
    ///
    /// ```
    /// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use wakeful::sync::mpsc::{self, error::SendTimeoutError};
    ///
    /// let (tx, _rx) = mpsc::channel(1);
    /// let limit = Duration::from_millis(1);
    /// assert_eq!(tx.send_timeout("fits", limit).await, Ok(()));
    /// let full = tx.send_timeout("does not", limit).await;
    /// assert_eq!(full, Err(SendTimeoutError::Timeout("does not")));
    /// # });
    /// ```
    pub async fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        // The value stays outside of what is given up when the time is over.
        match wakeful_runtime::time::timeout(timeout, self.reserve()).await {
            Ok(Ok(permit)) => permit.send(value),
            Ok(Err(_)) => return Err(SendTimeoutError::Closed(value)),
            Err(_) => return Err(SendTimeoutError::Timeout(value)),
        }
        Ok(())
    }
}

/// The value could not be sent in time; it comes back.
///
/// ```
/// use std::time::Duration;
/// use wakeful::sync::mpsc::{self, error::SendTimeoutError};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = mpsc::channel(1);
/// drop(rx);
/// let error = tx.send_timeout(1, Duration::from_secs(5)).await.unwrap_err();
/// assert_eq!(error, SendTimeoutError::Closed(1)); // at once
/// assert_eq!(error.into_inner(), 1);
/// # });
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum SendTimeoutError<T> {
    /// There was no room in the channel until the time was up.
    Timeout(T),

    /// The receiver is gone or has been closed.
    Closed(T),
}

impl<T> SendTimeoutError<T> {
    /// The value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            SendTimeoutError::Timeout(value) | SendTimeoutError::Closed(value) => value,
        }
    }
}

impl<T> fmt::Debug for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            SendTimeoutError::Timeout(..) => "Timeout(..)",
            SendTimeoutError::Closed(..) => "Closed(..)",
        };
        fmt::Debug::fmt(text, f)
    }
}

impl<T> fmt::Display for SendTimeoutError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SendTimeoutError::Timeout(..) => "timed out waiting on send operation",
            SendTimeoutError::Closed(..) => "channel closed",
        })
    }
}

impl<T> Error for SendTimeoutError<T> {}
