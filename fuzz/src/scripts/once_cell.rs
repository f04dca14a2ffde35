//! `OnceCell`.

crate::operations! {
    /// Initializes with a future that waits for a `Notify`, and may fail.
    6 GetOrTryInit { outcome, waker },
    3 GetOrInit { waker },
    /// Initializes with a future that panics.
    1 GetOrInitPanics { waker },
    8 Poll { which, waker },
    3 GiveUp { which },
    4 GoOn,
    1 Set,
    /// Takes the value out, if no future is waiting.
    2 Take,
}
