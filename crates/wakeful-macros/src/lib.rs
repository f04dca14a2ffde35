//! The procedural part of Wakeful's macros: `#[main]`, `#[test]`, and what `select!`, `join!` and
//! `try_join!` expand to.
//!
//! Written on tokens, without a parser for all of Rust: what these macros have to tell apart is a
//! function's signature from its body, and a branch's pattern from its future and handler. That keeps
//! the build of every program that uses them short, and the user's tokens as they are, so that the
//! compiler's errors point at the user's lines.

mod entry;
mod join;
mod select;
mod template;
mod tokens;

use entry::{Attribute, Kind};
use proc_macro::TokenStream;

fn entry(args: TokenStream, item: TokenStream, attribute: Attribute) -> TokenStream {
    entry::expand(args, item, attribute).unwrap_or_else(|(error, item)| error.with(item))
}

/// Runs an async `main` on a multi-thread runtime, or as its arguments say.
#[proc_macro_attribute]
pub fn main(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "wakeful", has_multi_thread: true })
}

/// Runs an async test on a current-thread runtime, or as its arguments say.
#[proc_macro_attribute]
pub fn test(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "wakeful", has_multi_thread: true })
}

/// `#[main]` in a build without the multi-thread runtime.
#[proc_macro_attribute]
pub fn main_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "wakeful", has_multi_thread: false })
}

/// `#[test]` in a build without the multi-thread runtime.
#[proc_macro_attribute]
pub fn test_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "wakeful", has_multi_thread: false })
}

/// `#[main]` of the drop-in.
#[proc_macro_attribute]
pub fn tokio_main(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "tokio", has_multi_thread: true })
}

/// `#[test]` of the drop-in.
#[proc_macro_attribute]
pub fn tokio_test(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "tokio", has_multi_thread: true })
}

/// `#[main]` of the drop-in in a build without the multi-thread runtime.
#[proc_macro_attribute]
pub fn tokio_main_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Main, library: "tokio", has_multi_thread: false })
}

/// `#[test]` of the drop-in in a build without the multi-thread runtime.
#[proc_macro_attribute]
pub fn tokio_test_rt(args: TokenStream, item: TokenStream) -> TokenStream {
    entry(args, item, Attribute { kind: Kind::Test, library: "tokio", has_multi_thread: false })
}

/// `#[main]` and `#[test]` in a build without any runtime: says what is missing.
#[proc_macro_attribute]
pub fn without_rt(_args: TokenStream, _item: TokenStream) -> TokenStream {
    let text = "this attribute starts a runtime: turn feature `rt` or `rt-multi-thread` on";
    tokens::Error::new(proc_macro::Span::call_site(), text).into_tokens()
}

/// What `select!` expands to. Begins with the path of the support module in parentheses.
#[proc_macro]
pub fn select(input: TokenStream) -> TokenStream {
    select::expand(input).unwrap_or_else(|error| error.into_tokens())
}

/// What `join!` expands to. Begins with the path of the support module in parentheses.
#[proc_macro]
pub fn join(input: TokenStream) -> TokenStream {
    join::expand(input, join::Ends::WithAll).unwrap_or_else(|error| error.into_tokens())
}

/// What `try_join!` expands to. Begins with the path of the support module in parentheses.
#[proc_macro]
pub fn try_join(input: TokenStream) -> TokenStream {
    join::expand(input, join::Ends::WithFirstError).unwrap_or_else(|error| error.into_tokens())
}
