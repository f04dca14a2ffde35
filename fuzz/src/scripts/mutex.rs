//! `Mutex`.

crate::operations! {
    6 Lock { waker },
    4 LockOwned { waker },
    3 TryLock,
    2 TryLockOwned,
    6 Poll { which, waker },
    3 GiveUp { which },
    5 Unlock { which },
    2 Map { which },
    /// Fails to map if `fails` is odd.
    2 TryMap { which, fails },
    2 Write { which },
}
