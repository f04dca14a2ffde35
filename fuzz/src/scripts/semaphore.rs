//! `Semaphore`.

crate::operations! {
    6 Acquire { count, waker },
    3 AcquireOwned { count, waker },
    /// Waits with more futures than are woken in one batch.
    1 AcquireOften { count },
    3 TryAcquire { count },
    3 TryAcquireOwned { count },
    8 Poll { which, waker },
    4 GiveUp { which },
    6 Release { which },
    2 Forget { which },
    4 Add { count },
    3 ForgetPermits { count },
    1 Close,
    2 Split { which, count },
    2 Merge { which, with },
    /// Creates another semaphore, whose permits cannot be merged with this one's.
    1 MergeForeign { which },
}
