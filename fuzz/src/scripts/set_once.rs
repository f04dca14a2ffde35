//! `SetOnce`.

crate::operations! {
    6 Wait { waker },
    4 Poll { which, waker },
    2 GiveUp { which },
    1 Set,
}
