//! The line that says that a program runs on Wakeful.

use std::env;
use std::sync::Once;

use wakeful_base::diagnostics;

/// Prints the version to standard error, if the environment variable `WAKEFUL_VERSION` asks for it
/// and this is the first runtime of the process. A program that uses the drop-in looks the same on
/// Tokio, so this is how a user sees which runtime it got.
pub(super) fn print_once() {
    static PRINTED: Once = Once::new();
    PRINTED.call_once(|| {
        let value = env::var_os("WAKEFUL_VERSION");
        if value.is_some_and(|value| !value.is_empty() && value != "0") {
            diagnostics::print(format_args!(
                "this program runs on Wakeful {}",
                env!("CARGO_PKG_VERSION")
            ));
        }
    });
}
