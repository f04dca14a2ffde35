use std::path::Path;

use super::*;

fn comment_words(text: &str) -> Vec<Word> {
    of_comments(&Source::new(Path::new("a.rs"), text))
}

fn texts(words: &[Word]) -> Vec<&str> {
    words.iter().map(|word| word.text.as_str()).collect()
}

fn in_markdown(text: &str) -> String {
    texts(&of_markdown(text, 1)).join(" ")
}

fn in_comments(text: &str) -> String {
    texts(&comment_words(text)).join(" ")
}

#[test]
fn words_know_their_lines() {
    let places = |words: Vec<Word>| -> Vec<(String, usize)> {
        words.into_iter().map(|word| (word.text, word.line)).collect()
    };
    let expected = [("a".to_owned(), 3), ("b".to_owned(), 4), ("c".to_owned(), 6)];
    assert_eq!(places(of_markdown("A `x\ny` b\n\nc", 3)), expected);
    let comments = comment_words("f();\n\n/// A\n/* B */ g();\n\n    // c");
    assert_eq!(places(comments), expected);
    let around_attributes = comment_words("\n\n/// A\n/// b\n#[doc = \"d\"]\n/// c");
    assert_eq!(places(around_attributes), expected);
}

#[test]
fn only_white_space_and_emphasis_let_words_follow() {
    let follows = |text| of_markdown(text, 1)[1].follows;
    for text in ["for ever", "for\never", "*for* **ever**"] {
        assert!(follows(text), "{text}");
    }
    for text in ["for. Ever", "for\n\never", "for `x` ever", "for-ever", "for|ever"] {
        assert!(!follows(text), "{text}");
    }
}

#[test]
fn inline_code_is_left_out() {
    assert_eq!(in_markdown("a `b` c ``d ` e`` f"), "a c f");
    assert_eq!(in_markdown("a `b\nc` d"), "a d");
    assert_eq!(in_markdown("a ` b\n\nc ` d"), "a b c d");
    assert_eq!(in_markdown("``` a ``` b"), "b");
}

#[test]
fn fenced_code_is_left_out_and_fenced_text_is_not() {
    assert_eq!(in_markdown("a\n```\nb\n\nc\n```\nd"), "a d");
    assert_eq!(in_markdown("a\n```text\nb\n\nc\n```\nd"), "a b c d");
    assert_eq!(in_markdown("a\n  ~~~rust\n  ```\n  b\n  ~~~\nc"), "a c");
    assert_eq!(in_comments("/// a\n/// ```no_run\n/// // b\n/// ```\n/// c"), "a c");
    assert_eq!(in_comments("//! ```text\n//! a ─▶ b\n//! ```"), "a b");
}

#[test]
fn a_fence_ends_with_its_comment() {
    assert_eq!(in_comments("/// ```\n/// a\nfn f() {}\n/// b"), "b");
    let around_attributes = "/// ```\n#[doc = concat!(a, [b])]\n#[x]\n/// c\n/// ```\n#[y]\n/// d";
    assert_eq!(in_comments(around_attributes), "d");
}

#[test]
fn comments_lose_their_markers() {
    assert_eq!(in_comments("//a\n//! b\n/* c\n * d\n e */\n/** f */"), "a b c d e f");
    assert_eq!(in_comments("let a = \"// b\"; // c"), "c");
    let across = comment_words("    // many\n    // a\nf(); // b");
    let follows: Vec<bool> = across.iter().map(|word| word.follows).collect();
    assert_eq!(follows, [false, true, false]);
}
