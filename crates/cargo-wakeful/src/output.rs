//! Printing. A reader that has gone away, as in `cargo wakeful --help | head -1`, is no error: what
//! is left is not printed.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints a line to standard output.
pub fn print_line(text: impl Display) {
    let _ = writeln!(io::stdout().lock(), "{text}");
}

/// Prints a line to standard error that says which program it comes from.
pub fn print_note(text: impl Display) {
    let _ = writeln!(io::stderr().lock(), "cargo wakeful: {text}");
}

/// Prints what cargo has printed to standard error.
pub fn pass_on_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Prints a text that ends its lines itself to standard output. Returns whether the reader is still
/// there.
pub fn print_text(text: &str) -> bool {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).is_ok()
}
