//! `oneshot`: one channel after the other.

crate::operations! {
    /// Drops the channel and creates a new one.
    2 New,
    3 Send,
    2 DropSender,
    5 PollClosed { waker },
    /// Polls `closed` once and drops it.
    1 Closed { waker },
    2 DropReceiver,
    2 Close,
    4 TryRecv,
    6 Poll { waker },
}
