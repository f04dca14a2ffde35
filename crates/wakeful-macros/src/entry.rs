//! `#[main]` and `#[test]`: turn an async function into one that runs its body on a new runtime.
//!
//! `options.rs` parses the arguments of the attribute and generates the call of the builder;
//! `function.rs` parses the function and generates the new one.

mod function;
mod options;

use crate::tokens::Error;
use function::{AsyncFn, without_test_attributes};
use options::Options;
use proc_macro::TokenStream;

/// The attribute to expand, and the crate that exports it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attribute {
    pub(crate) kind: Kind,
    pub(crate) library: &'static str,
    /// Whether the crate was built with the multi-thread runtime.
    pub(crate) has_multi_thread: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Main,
    Test,
}

impl Attribute {
    fn name(self) -> String {
        let kind = if self.kind == Kind::Main { "main" } else { "test" };
        format!("{}::{kind}", self.library)
    }
}

pub(crate) fn expand(
    args: TokenStream,
    item: TokenStream,
    attribute: Attribute,
) -> Result<TokenStream, (Error, TokenStream)> {
    let function = AsyncFn::parse(item.clone(), attribute)
        .map_err(|error| (error, without_test_attributes(item.clone())))?;
    let options = Options::parse(args, attribute)
        .and_then(|options| options.check(attribute))
        .map_err(|error| (error, item))?;
    Ok(function.on_runtime(&options, attribute))
}
