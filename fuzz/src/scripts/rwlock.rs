//! `RwLock`.

crate::operations! {
    6 Read { waker },
    4 ReadOwned { waker },
    5 Write { waker },
    3 WriteOwned { waker },
    3 TryRead,
    2 TryReadOwned,
    3 TryWrite,
    2 TryWriteOwned,
    8 Poll { which, waker },
    3 GiveUp { which },
    8 Unlock { which },
    3 Downgrade { which },
    /// Fails to downgrade if `fails` is odd.
    2 TryDowngrade { which, fails },
    2 Map { which },
    /// Fails to map if `fails` is odd.
    2 TryMap { which, fails },
}
