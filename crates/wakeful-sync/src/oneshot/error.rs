//! What can go wrong with a oneshot channel.

use std::fmt;

/// The sender was dropped without having sent a value.
#[derive(Debug, Eq, PartialEq, Clone)]
pub struct RecvError(pub(super) ());

/// Why [`Receiver::try_recv`](super::Receiver::try_recv) has no value.
#[derive(Debug, Eq, PartialEq, Clone)]
pub enum TryRecvError {
    /// None was sent yet.
    Empty,

    /// None will ever come: the sender is gone, or the value was received before.
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
