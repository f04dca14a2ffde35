//! Keeps panics of user code out of the runtime, and aborts at panics of the runtime itself.

use crate::diagnostics;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;

/// Runs user code, such as a destructor or an external waker, and discards its panic.
///
/// For places where no caller could handle the panic.
pub fn contain_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        drop_payload(payload);
    }
}

/// Drops a panic payload that no caller will see.
///
/// A payload that panics in its own destructor is leaked.
#[cold]
pub fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
}

/// Runs runtime code that must not unwind. If it panics, prints a message and aborts the process.
///
/// For code that other threads rely on to finish, such as a worker's loop or a pool's bookkeeping.
/// User code called from it contains its own panics, so a panic that reaches this function is a bug
/// in the runtime. A state change is half done at that point. Going on would leave tasks that never
/// finish and a runtime whose drop never returns. `what` completes the sentence "a panic in ...".
pub fn abort_on_unwind<R>(what: &str, f: impl FnOnce() -> R) -> R {
    struct Abort<'a>(&'a str);

    impl Drop for Abort<'_> {
        fn drop(&mut self) {
            diagnostics::print(format_args!(
                "a panic in {} (its message is above) is a bug in Wakeful itself. The interrupted \
                 operation cannot be completed and tasks would hang, so the process aborts. Please \
                 report this bug together with the panic message.",
                self.0
            ));
            process::abort();
        }
    }

    if cfg!(wakeful_loom) {
        // A loom model reports the panic together with the interleaving that led to it.
        return f();
    }
    let abort = Abort(what);
    let result = f();
    std::mem::forget(abort);
    result
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
