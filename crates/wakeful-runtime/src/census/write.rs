//! Appends to texts with little code: these functions are not inlined into their many callers.

use std::fmt::{self, Write};

/// Appends formatted text to a string.
macro_rules! put {
    ($into:expr, $($format:tt)+) => {
        $crate::census::write::push_args(&mut *$into, format_args!($($format)+))
    };
}
pub(super) use put;

/// Appends a text to a string.
#[inline(never)]
pub(super) fn push(into: &mut String, text: &str) {
    into.push_str(text);
}

#[inline(never)]
pub(super) fn push_args(into: &mut String, args: fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    _ = into.write_fmt(args);
}
