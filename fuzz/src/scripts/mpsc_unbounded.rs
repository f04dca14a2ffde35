//! An unbounded `mpsc` channel.

crate::operations! {
    8 Send { sender },
    /// Sends enough messages to fill several blocks of the channel's queue.
    1 SendMany { sender, count },
    2 SenderClosed { sender, waker },
    2 CloneSender { sender },
    2 DropSender { sender },
    1 Downgrade { sender },
    1 CloneWeak { weak },
    2 Upgrade { weak },
    1 DropWeak { weak },
    4 Poll { which, waker },
    2 GiveUp { which },
    8 PollRecv { waker },
    3 PollRecvMany { count, waker },
    /// Polls `recv` once and drops it.
    2 Recv { waker },
    5 TryRecv,
    1 Close,
    1 DropReceiver,
}
