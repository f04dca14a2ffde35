//! Keeps the panics of other people's code from where they could do harm.

use crate::diagnostics;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process;

/// Runs code of the user's (a drop, a foreign waker) whose panic is nobody's to see here.
pub fn contain_panic(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        drop_payload(payload);
    }
}

/// Drops a payload that nobody will see; one that panics in its own drop is leaked.
#[cold]
pub fn drop_payload(payload: Box<dyn Any + Send>) {
    if let Err(next) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(next);
    }
}

/// Runs the runtime's own code, which must not unwind; if it does, aborts the process with a message.
///
/// For what other threads count on to be done to its end: a worker's loop, or the books of a pool.
/// User code in it contains its panics, so a panic that gets here is a defect of the runtime. Half of a
/// change is done then, and to go on would leave tasks that never end and a runtime whose drop never
/// returns. `what` completes the sentence "a panic in ...".
pub fn abort_on_unwind<R>(what: &str, f: impl FnOnce() -> R) -> R {
    struct Abort<'a>(&'a str);

    impl Drop for Abort<'_> {
        fn drop(&mut self) {
            diagnostics::print(format_args!(
                "a panic in {}, reported above, is a defect of Wakeful itself. What it was doing \
                 cannot be finished and tasks would wait for it for ever: the process aborts. Please \
                 report it, with the panic's text.",
                self.0
            ));
            process::abort();
        }
    }

    if cfg!(wakeful_loom) {
        // A model reports the panic, and the order of events that led to it.
        return f();
    }
    let abort = Abort(what);
    let result = f();
    std::mem::forget(abort);
    result
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
