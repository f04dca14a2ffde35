//! Errors of a broadcast channel.
//!
//! ```
//! use wakeful::sync::broadcast::{self, error::TryRecvError};
//!
//! let (tx, mut rx) = broadcast::channel(1);
//! assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
//! tx.send("one").unwrap();
//! tx.send("two").unwrap(); // overwrites
//! assert_eq!(rx.try_recv(), Err(TryRecvError::Lagged(1)));
//! drop(tx);
//! assert_eq!(rx.try_recv(), Ok("two"));
//! assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
//! ```

use std::fmt;

/// The error of a send without receivers, with the value that was not sent.
///
/// ```
/// use wakeful::sync::broadcast::{self, error::SendError};
///
/// let (tx, rx) = broadcast::channel(1);
/// drop(rx);
/// let SendError(value) = tx.send("kept").unwrap_err();
/// assert_eq!(value, "kept");
/// ```
#[derive(Debug)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl<T: fmt::Debug> std::error::Error for SendError<T> {}

/// The error of [`Receiver::recv`](super::Receiver::recv).
///
/// ```
/// use wakeful::sync::broadcast::{self, error::RecvError};
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, mut rx) = broadcast::channel(1);
/// for number in 0..3 {
///     tx.send(number).unwrap();
/// }
/// drop(tx);
/// assert_eq!(rx.recv().await, Err(RecvError::Lagged(2)));
/// assert_eq!(rx.recv().await, Ok(2));
/// assert_eq!(rx.recv().await, Err(RecvError::Closed));
/// # });
/// ```
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum RecvError {
    /// All senders are dropped, and all values have been received.
    Closed,

    /// The receiver was too slow: this many values were overwritten before it took them. The next
    /// `recv` returns the oldest value that is left.
    Lagged(u64),
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecvError::Closed => f.write_str("channel closed"),
            RecvError::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl std::error::Error for RecvError {}

/// The error of [`Receiver::try_recv`](super::Receiver::try_recv).
///
/// ```
/// use wakeful::sync::broadcast::{self, error::TryRecvError};
///
/// let (tx, mut rx) = broadcast::channel(4);
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
/// tx.send("news").unwrap();
/// assert_eq!(rx.try_recv(), Ok("news"));
/// ```
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum TryRecvError {
    /// There is no value now, but senders are left.
    Empty,

    /// All senders are dropped, and all values have been received.
    Closed,

    /// The receiver was too slow: this many values were overwritten before it took them. The next
    /// call returns the oldest value that is left.
    Lagged(u64),
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TryRecvError::Empty => f.write_str("channel empty"),
            TryRecvError::Closed => f.write_str("channel closed"),
            TryRecvError::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl std::error::Error for TryRecvError {}
