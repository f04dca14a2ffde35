//! `Barrier`.

crate::operations! {
    6 Wait { waker },
    3 Poll { which, waker },
    1 GiveUp { which },
}
