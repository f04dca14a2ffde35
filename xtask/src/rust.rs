//! A minimal reader of Rust source: tokens, attributes and modules, without a grammar.
//!
//! It works on tokens instead of a syntax tree because the checks need comments, the bodies of
//! macros and code for other platforms, which parsers discard or do not interpret.
//!
//! `lex` makes tokens, `source` answers questions about the tokens of a file, `cfg` evaluates
//! conditions, and `modules` follows `mod` declarations from file to file.

pub mod cfg;
pub mod lex;
pub mod modules;
pub mod source;
