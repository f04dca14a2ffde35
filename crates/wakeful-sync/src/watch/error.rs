//! Errors of a watch channel.
//!
//! ```
//! use wakeful::sync::watch;
//!
//! # wakeful::runtime::Runtime::new().unwrap().block_on(async {
//! let (tx, mut rx) = watch::channel(1);
//! drop(tx);
//! assert!(rx.changed().await.is_err());
//! assert_eq!(*rx.borrow(), 1); // the value is still there
//! # });
//! ```

use std::error::Error;
use std::fmt;

/// The error of a send without receivers, with the value that was not sent.
///
/// ```
/// use wakeful::sync::watch::{self, error::SendError};
///
/// let (tx, rx) = watch::channel(1);
/// drop(rx);
/// assert_eq!(tx.send(2), Err(SendError(2)));
/// assert_eq!(*tx.borrow(), 1);
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

/// The error of waiting for a change when all senders are dropped.
///
/// ```
/// use wakeful::sync::watch;
///
/// let (tx, rx) = watch::channel(1);
/// assert!(rx.has_changed().is_ok());
/// drop(tx);
/// let error = rx.has_changed().unwrap_err();
/// println!("{error}");
/// ```
#[derive(Debug, Clone)]
pub struct RecvError(pub(super) ());

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl Error for RecvError {}
