//! `Notify`.

crate::operations! {
    /// Creates a future and polls it.
    6 Wait { waker },
    /// Creates a future without polling it.
    3 Notified,
    /// Creates a future that owns the `Notify`.
    3 NotifiedOwned,
    /// Creates and polls more futures than are woken in one batch.
    1 WaitMany { count },
    8 Poll { which, waker },
    3 Enable { which },
    4 Drop { which },
    5 NotifyOne,
    3 NotifyLast,
    3 NotifyWaiters,
}
