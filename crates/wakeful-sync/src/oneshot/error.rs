//! Errors of a oneshot channel.
//!
//! ```
//! use wakeful::sync::oneshot::{self, error::TryRecvError};
//!
//! let (tx, mut rx) = oneshot::channel::<u32>();
//! assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
//! drop(tx);
//! assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
//! ```

use std::fmt;

/// The error of receiving when the sender was dropped without sending.
///
/// ```
/// use wakeful::sync::oneshot;
///
/// # wakeful::runtime::Runtime::new().unwrap().block_on(async {
/// let (tx, rx) = oneshot::channel::<u32>();
/// let task = wakeful::spawn(async move {
///     let _tx = tx; // and no answer
/// });
/// let error = rx.await.unwrap_err();
/// println!("no answer: {error}");
/// # task.await.unwrap();
/// # });
/// ```
#[derive(Debug, Eq, PartialEq, Clone)]
pub struct RecvError(pub(super) ());

/// The error of [`Receiver::try_recv`](super::Receiver::try_recv).
///
/// ```
/// use wakeful::sync::oneshot::{self, error::TryRecvError};
///
/// let (tx, mut rx) = oneshot::channel();
/// assert_eq!(rx.try_recv(), Err(TryRecvError::Empty)); // ask again later
/// tx.send(1).unwrap();
/// assert_eq!(rx.try_recv(), Ok(1));
/// ```
#[derive(Debug, Eq, PartialEq, Clone)]
pub enum TryRecvError {
    /// No value has been sent yet.
    Empty,

    /// No value will ever come: the sender is dropped, or the value has already been received.
    Closed,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl std::error::Error for RecvError {}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => "channel empty",
            TryRecvError::Closed => "channel closed",
        })
    }
}

impl std::error::Error for TryRecvError {}
