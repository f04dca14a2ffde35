//! `watch`.

crate::operations! {
    6 Send { sender },
    3 SendReplace { sender },
    3 SendModify { sender },
    1 SendModifyPanics { sender },
    3 SendIfModified { sender, told },
    1 SendIfModifiedPanics { sender },
    2 SenderBorrow { sender },
    3 Subscribe { sender },
    1 CloneSender { sender },
    1 DropSender { sender },
    2 SenderClosed { sender, waker },
    3 PollClosed { which, waker },
    1 GiveUpClosed { which },
    2 CloneReceiver { receiver },
    2 DropReceiver { receiver },
    3 Borrow { receiver },
    4 BorrowAndUpdate { receiver },
    3 HasChanged { receiver },
    2 MarkChanged { receiver },
    2 MarkUnchanged { receiver },
    /// Waits with a receiver, which is in use until the future is ready or dropped.
    5 Changed { receiver, waker },
    4 WaitFor { receiver, rest, waker },
    1 WaitForPanics { receiver, waker },
    /// Polls `changed` once and drops it.
    3 ChangedOnce { receiver, waker },
    6 Poll { which, waker },
    2 GiveUp { which },
}
