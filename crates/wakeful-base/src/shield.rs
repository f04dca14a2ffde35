//! Keeps the panics of other people's code from where they could do harm.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs code of the user's (a drop, a foreign waker) whose panic is nobody's to see here.
pub fn shield(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        discard(payload);
    }
}

/// Drops a payload that nobody will see; one that panics in its own drop is leaked.
#[cold]
pub fn discard(payload: Box<dyn Any + Send>) {
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
}
