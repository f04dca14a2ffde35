//! A bounded `mpsc` channel.

crate::operations! {
    6 TrySend { sender },
    /// Sends enough messages to fill several blocks of the channel's queue.
    1 TrySendMany { sender, count },
    4 Send { sender, waker },
    4 Reserve { sender, waker },
    3 ReserveMany { sender, count, waker },
    4 ReserveOwned { sender, waker },
    3 TryReserve { sender },
    2 TryReserveMany { sender, count },
    3 TryReserveOwned { sender },
    2 SenderClosed { sender, waker },
    2 CloneSender { sender },
    2 DropSender { sender },
    1 Downgrade { sender },
    1 CloneWeak { weak },
    2 Upgrade { weak },
    1 DropWeak { weak },
    6 Poll { which, waker },
    3 GiveUp { which },
    4 PermitSend { which },
    2 PermitRelease { which },
    2 PermitDrop { which },
    6 PollRecv { waker },
    3 PollRecvMany { count, waker },
    /// Polls `recv` once and drops it.
    2 Recv { waker },
    5 TryRecv,
    1 Close,
    1 DropReceiver,
}
