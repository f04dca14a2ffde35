//! Errors of sending and receiving.
//!
//! ```
//! use wakeful::sync::mpsc::{self, error::{SendError, TryRecvError}};
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut rx) = mpsc::channel(1);
//! assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
//! rx.close();
//! assert_eq!(tx.send("too late").await, Err(SendError("too late")));
//! drop(tx);
//! assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
//! # });
//! ```

use std::error::Error;
use std::fmt;

#[cfg(feature = "time")]
pub use super::send_timeout::SendTimeoutError;

/// The error of a send into a closed channel, with the value that was not sent.
///
/// ```
/// use wakeful::sync::mpsc::{self, error::SendError};
///
/// let (tx, rx) = mpsc::unbounded_channel();
/// drop(rx);
/// let SendError(value) = tx.send("kept").unwrap_err();
/// assert_eq!(value, "kept");
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub struct SendError<T>(pub T);

impl<T> fmt::Debug for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SendError").finish_non_exhaustive()
    }
}

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl<T> Error for SendError<T> {}

/// The error of a [`try_send`](super::Sender::try_send), with the value that was not sent.
///
/// ```
/// use wakeful::sync::mpsc::{self, error::TrySendError};
///
/// let (tx, _rx) = mpsc::channel(1);
/// tx.try_send(1).unwrap();
/// match tx.try_send(2) {
///     Err(TrySendError::Full(value)) => assert_eq!(value, 2),
///     Err(TrySendError::Closed(_)) => panic!("the receiver is gone"),
///     Ok(()) => panic!("there was room for one"),
/// }
/// ```
#[derive(PartialEq, Eq, Clone, Copy)]
pub enum TrySendError<T> {
    /// The channel is full.
    Full(T),

    /// The receiver is dropped or closed.
    Closed(T),
}

impl<T> TrySendError<T> {
    /// Returns the value that was not sent.
    pub fn into_inner(self) -> T {
        match self {
            TrySendError::Full(value) | TrySendError::Closed(value) => value,
        }
    }
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Tokio prints these with quotation marks.
        let text = match self {
            TrySendError::Full(..) => "Full(..)",
            TrySendError::Closed(..) => "Closed(..)",
        };
        fmt::Debug::fmt(text, f)
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(..) => "no available capacity",
            TrySendError::Closed(..) => "channel closed",
        })
    }
}

impl<T> Error for TrySendError<T> {}

impl<T> From<SendError<T>> for TrySendError<T> {
    fn from(error: SendError<T>) -> Self {
        TrySendError::Closed(error.0)
    }
}

/// The error of a [`try_recv`](super::Receiver::try_recv).
///
/// ```
/// use wakeful::sync::mpsc::{self, error::TryRecvError};
///
/// let (tx, mut rx) = mpsc::channel(1);
/// tx.try_send(1).unwrap();
/// drop(tx);
/// assert_eq!(rx.try_recv(), Ok(1)); // values sent before are still received
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
/// ```
#[derive(PartialEq, Eq, Clone, Copy, Debug)]
pub enum TryRecvError {
    /// The channel is empty, but senders are left.
    Empty,

    /// The channel is empty, and no value will be sent any more.
    Disconnected,
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            TryRecvError::Empty => "receiving on an empty channel",
            TryRecvError::Disconnected => "receiving on a closed channel",
        })
    }
}

impl Error for TryRecvError {}

/// An unused error type, which exists because Tokio has it.
#[derive(Debug, Clone)]
#[doc(hidden)]
#[deprecated(note = "This type is unused because recv returns an Option.")]
pub struct RecvError(());

#[allow(deprecated)]
impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

#[allow(deprecated)]
impl Error for RecvError {}
