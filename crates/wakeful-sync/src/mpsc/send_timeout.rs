//! Sending with a timeout: the only part of the channel that needs a runtime.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use super::Sender;

impl<T> Sender<T> {
    /// Sends `value`, waiting for room for at most `timeout`.
    ///
    /// # Errors
    ///
    /// Returns [`SendTimeoutError::Timeout`] if there was no room in time, and
    /// [`SendTimeoutError::Closed`] if the receiver is dropped or closed. Both return the value.
    ///
    /// # Cancel safety
    ///
    /// If the future is dropped before it completes, the value has not been sent, and is dropped
    /// with the future. To keep the value in that case, wait with [`reserve`](Self::reserve) and
    /// send with the permit.
    ///
    /// # Panics
    ///
    /// Panics when polled outside a runtime with time enabled.
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
    #[cfg_attr(docsrs, doc(cfg(feature = "time")))]
    pub async fn send_timeout(
        &self,
        value: T,
        timeout: Duration,
    ) -> Result<(), SendTimeoutError<T>> {
        // Only the reservation has the timeout, so the value is still here when the time is up.
        match wakeful_runtime::time::timeout(timeout, self.reserve()).await {
            Ok(Ok(permit)) => permit.send(value),
            Ok(Err(_)) => return Err(SendTimeoutError::Closed(value)),
            Err(_) => return Err(SendTimeoutError::Timeout(value)),
        }
        Ok(())
    }
}

/// The error of a [`send_timeout`](super::Sender::send_timeout), with the value that was not sent.
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
#[cfg_attr(docsrs, doc(cfg(feature = "time")))]
pub enum SendTimeoutError<T> {
    /// There was no room in the channel before the timeout.
    Timeout(T),

    /// The receiver is dropped or closed.
    Closed(T),
}

impl<T> SendTimeoutError<T> {
    /// Returns the value that was not sent.
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
