//! `Notify`.

crate::operations! {
    /// Makes a future and polls it.
    6 Wait { waker },
    /// Makes a future that is not polled yet.
    3 Notified,
    /// Makes one that owns the `Notify`.
    3 NotifiedOwned,
    /// Makes more futures than are woken in one go, and polls them.
    1 WaitMany { count },
    8 Poll { which, waker },
    3 Enable { which },
    4 Drop { which },
    5 NotifyOne,
    3 NotifyLast,
    3 NotifyWaiters,
}
