use super::*;

fn source(text: &str) -> Source<'_> {
    Source::new(Path::new("sample.rs"), text)
}

fn gated(text: &str) -> Vec<String> {
    let source = source(text);
    let ranges = source.only_with("test");
    let joined = |range: Range<usize>| -> Vec<&str> {
        source.tokens[range].iter().map(|token| token.text).collect()
    };
    ranges.into_iter().map(|range| joined(range).join(" ")).collect()
}

#[test]
fn code_lines_leave_out_comments_and_blanks() {
    let source = source("// one\n\nfn f() {\n    /* two */\n    g(\"a\nb\"); h();\n}\n");
    assert_eq!(source.code_lines(0..source.tokens.len()), 4);
}

#[test]
fn a_gate_covers_the_item_behind_it() {
    assert_eq!(gated("#[cfg(test)] use a::{b, c}; d;"), ["# [ cfg ( test ) ] use a :: { b , c }"]);
    assert_eq!(
        gated("#[cfg(test)] #[x] mod t { a } b"),
        ["# [ cfg ( test ) ] # [ x ] mod t { a }"]
    );
    assert_eq!(
        gated("#[cfg(test)] fn f<A, B>() {} c"),
        ["# [ cfg ( test ) ] fn f < A , B > ( ) { }"]
    );
    assert_eq!(gated("struct S { #[cfg(test)] a: u8, b: u8 }"), ["# [ cfg ( test ) ] a : u8 ,"]);
}

#[test]
fn an_inner_gate_covers_its_block_or_the_file() {
    assert_eq!(gated("mod t { #![cfg(test)] a } b"), ["{ # ! [ cfg ( test ) ] a"]);
    assert_eq!(gated("#![cfg(test)] a"), ["# ! [ cfg ( test ) ] a"]);
}

#[test]
fn only_an_inner_gate_of_the_file_covers_the_file() {
    assert!(source("//! Docs.\n#![cfg(all(test, unix))] a").is_wholly_behind("test"));
    assert!(!source("#[cfg(test)] mod tests;").is_wholly_behind("test"));
    assert!(!source("mod t { #![cfg(test)] }").is_wholly_behind("test"));
}

#[test]
fn attributes_in_front_of_an_item_are_found() {
    let source = source("x; #[a(b)] #[c] fn f() {}");
    let function = source.tokens.iter().position(|token| token.text == "fn").unwrap();
    assert_eq!(source.attributes_start(function), 2);
    assert_eq!(source.attributes_start(2), 2);
}

#[test]
fn unmatched_brackets_are_their_own_partner() {
    let source = source(") ( a");
    assert_eq!((source.partner(0), source.partner(1)), (0, 1));
    assert_eq!(source.attributes().count(), 0);
}
