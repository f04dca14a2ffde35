use std::path::Path;

use super::*;

fn problem_lines(text: &str) -> Vec<usize> {
    let mut report = Report::default();
    check(&Source::new(Path::new("a.rs"), text), text, &mut report);
    report.problems.iter().map(|problem| problem.line).collect()
}

/// Returns a text of `columns` characters, the last of which take more than one byte each.
fn of(start: &str, columns: usize) -> String {
    format!("{start}{}", "─".repeat(columns - start.chars().count()))
}

#[test]
fn the_limit_counts_characters() {
    assert_eq!(problem_lines(&of("    /// ", 100)), []);
    assert_eq!(problem_lines(&of("    /// ", 101)), [1]);
}

#[test]
fn all_lines_of_all_comments_count() {
    let long = of("", 101);
    assert_eq!(problem_lines(&format!("/* a\n{long}\nb */\n//! {long}\n// c")), [2, 4]);
    assert_eq!(problem_lines(&format!("/* {long} */ /* {long} */")), [1]);
}

#[test]
fn tables_and_code_in_comments_are_no_exception() {
    assert_eq!(problem_lines(&of("//! | a | ", 101)), [1]);
    assert_eq!(problem_lines(&format!("/// ```\n{}\n/// ```", of("/// let a = ", 101))), [2]);
}

#[test]
fn code_and_strings_belong_to_rustfmt() {
    let long = of("", 101);
    assert_eq!(problem_lines(&format!("{} // why", of("let a = ", 95))), []);
    assert_eq!(problem_lines(&format!("// a\nlet a = \"// {long}\";\n// b")), []);
}

#[test]
fn a_url_alone_may_be_long() {
    let url = of("https://example.org/", 101);
    assert_eq!(problem_lines(&format!("/// {url}\n    //! <{url}>\n/// [label]: {url}")), []);
    assert_eq!(problem_lines(&format!("/// see {url}\n/// {url} a")), [1, 2]);
}
