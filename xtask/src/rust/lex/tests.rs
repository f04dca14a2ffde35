use super::*;

fn texts(source: &str) -> Vec<&str> {
    lex(source).tokens.iter().map(|token| token.text).collect()
}

#[test]
fn paths_and_arrows_are_one_token() {
    assert_eq!(texts("a::b => c -> d: e"), ["a", "::", "b", "=>", "c", "->", "d", ":", "e"]);
}

#[test]
fn strings_hide_what_they_contain() {
    let source = r####"f("unsafe { \" }", r#"a "quoted" { "#, b"{", c"{", br##"}"#}"##, x)"####;
    let literals = lex(source).tokens.iter().filter(|t| t.kind == Kind::Literal).count();
    assert_eq!(literals, 5);
    assert_eq!(texts(source).last(), Some(&")"));
    assert!(!texts(source).contains(&"unsafe"));
}

#[test]
fn characters_and_lifetimes_are_distinguished() {
    let source = r"<'a>'a' '\'' '\u{7d}' b'{' 'ü' 'static '_ b'\\'";
    let of_kind = |kind| -> Vec<&str> {
        lex(source).tokens.iter().filter(|t| t.kind == kind).map(|t| t.text).collect()
    };
    assert_eq!(of_kind(Kind::Lifetime), ["'a", "'static", "'_"]);
    assert_eq!(of_kind(Kind::Literal), ["'a'", r"'\''", r"'\u{7d}'", "b'{'", "'ü'", r"b'\\'"]);
}

#[test]
fn numbers_leave_ranges_and_methods_alone() {
    assert_eq!(
        texts("0..1.5e3 2.max(0x_ff)"),
        "0 . . 1.5e3 2 . max ( 0x_ff )".split(' ').collect::<Vec<_>>()
    );
}

#[test]
fn raw_identifiers_lose_their_prefix() {
    assert_eq!(texts("mod r#async; r"), ["mod", "async", ";", "r"]);
}

#[test]
fn comments_nest_and_have_positions() {
    let lexed = lex("a; // tail\n/* x /* y */\n z */ b\n/// doc\nc");
    let places: Vec<_> =
        lexed.comments.iter().map(|c| (c.line, c.last_line, c.next_token, c.own_line)).collect();
    assert_eq!(places, [(1, 1, 2, false), (2, 3, 2, true), (4, 4, 3, true)]);
    let docs: Vec<bool> = lexed.comments.iter().map(Comment::is_doc).collect();
    assert_eq!(docs, [false, false, true]);
    let lines: Vec<usize> = lexed.tokens.iter().map(|token| token.line).collect();
    assert_eq!(lines, [1, 1, 3, 5]);
}

#[test]
fn unterminated_literals_do_not_fail() {
    for source in ["\"open", "r#\"open", "/* open", "'", "b'", "'\\", "b'\\", "r#", "'é"] {
        lex(source);
    }
}

#[test]
fn a_string_of_several_lines_has_first_and_last_line() {
    let lexed = lex("x = \"a\nb\nc\";\ny");
    assert_eq!((lexed.tokens[2].line, lexed.tokens[2].last_line), (1, 3));
    assert_eq!(lexed.tokens[4].line, 4);
}
