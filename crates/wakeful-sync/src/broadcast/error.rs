//! What can go wrong with a broadcast channel.

use std::fmt;

/// The value was not sent, since there are no receivers; here it is.
#[derive(Debug)]
pub struct SendError<T>(pub T);

impl<T> fmt::Display for SendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl<T: fmt::Debug> std::error::Error for SendError<T> {}

/// Why [`Receiver::recv`](super::Receiver::recv) has no value.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum RecvError {
    /// All senders are gone and everything they sent was received.
    Closed,

    /// The receiver was too slow: so many values were overwritten before it came to them. The next
    /// `recv` returns the oldest that is still there.
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

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) has no value.
#[derive(Debug, PartialEq, Eq, Clone)]
pub enum TryRecvError {
    /// There is none now; another may come.
    Empty,

    /// All senders are gone and everything they sent was received.
    Closed,

    /// The receiver was too slow: so many values were overwritten before it came to them. The next
    /// call returns the oldest that is still there.
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
