//! Reading Rust source just closely enough: tokens, attributes and modules, no grammar.
//!
//! Tokens instead of a syntax tree because the checks care about comments, about the bodies of
//! macros and about code for other platforms, all of which a parser throws away or leaves opaque.

pub mod cfg;
pub mod lex;
pub mod modules;
pub mod source;
