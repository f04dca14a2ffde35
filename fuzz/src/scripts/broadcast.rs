//! `broadcast`.

crate::operations! {
    8 Send { sender },
    3 Subscribe { sender },
    2 Resubscribe { receiver },
    2 DropReceiver { receiver },
    6 TryRecv { receiver },
    /// Waits with a receiver, which is in use until the future is ready or dropped.
    6 Recv { receiver, waker },
    /// Polls `recv` once and drops it.
    3 RecvOnce { receiver, waker },
    6 Poll { which, waker },
    2 GiveUp { which },
    2 SenderClosed { sender, waker },
    3 PollClosed { which, waker },
    1 GiveUpClosed { which },
    1 CloneSender { sender },
    1 DropSender { sender },
    1 Downgrade { sender },
    1 Upgrade { weak },
    1 DropWeak { weak },
}
