//! Panics that a step causes on purpose.
//!
//! Some steps show what happens when a rule is broken. The panic belongs on the timeline then, not
//! on the terminal as if the tour had failed.
//!
//! 某一步故意引发的 panic。有些步骤演示破坏规矩的后果，这样的 panic 应该记在时间线上，而不是像导览
//! 出了故障那样打印到终端。

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Set while this thread runs what is expected to panic.
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `act`, and returns what it said if it panicked. Nothing is printed.
pub fn catch<T>(act: impl FnOnce() -> T) -> Result<T, String> {
    static INSTALL_HOOK: Once = Once::new();
    INSTALL_HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !EXPECTED.get() {
                usual(info);
            }
        }));
    });

    let before = EXPECTED.replace(true);
    // What `act` leaves behind half-done is looked at by a step that knows that it panicked.
    let outcome = panic::catch_unwind(AssertUnwindSafe(act));
    EXPECTED.set(before);
    outcome.map_err(|payload| message(payload.as_ref()))
}

/// `panic!` carries a `&str` if its text is fixed, and a `String` if it was put together.
fn message(payload: &(dyn Any + Send)) -> String {
    let fixed = payload.downcast_ref::<&str>().map(|text| text.to_string());
    let text = fixed.or_else(|| payload.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without a text".to_owned())
}
