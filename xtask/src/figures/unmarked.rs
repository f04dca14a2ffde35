//! Finds numbers with a unit that no comment names a source of.

use std::path::Path;

use super::Problem;
use super::constants::Constants;
use super::page::{outside_fences, trailing_number};

#[cfg(test)]
mod tests;

/// Units, each with the name under which `constants.txt` lists it. A longer unit stands before one
/// that it starts with.
const UNITS: &[(&str, &str)] = &[
    ("ns", "ns"),
    ("纳秒", "ns"),
    ("µs", "µs"),
    ("us", "µs"),
    ("微秒", "µs"),
    ("ms", "ms"),
    ("毫秒", "ms"),
    ("KiB", "KiB"),
    ("MiB", "MiB"),
    ("KB", "KB"),
    ("MB", "MB"),
    ("bytes", "B"),
    ("byte", "B"),
    ("B", "B"),
    ("字节", "B"),
    ("seconds", "s"),
    ("second", "s"),
    ("s", "s"),
    ("秒", "s"),
    ("%", "%"),
    ("×", "x"),
    ("x", "x"),
    ("times", "x"),
    ("倍", "x"),
    ("tests", "tests"),
    ("个测试", "tests"),
    ("/s", "/s"),
    ("/秒", "/s"),
];

/// Lists the numbers of a page that have a unit, but neither a comment nor a constant.
pub fn find(page: &Path, text: &str, constants: &Constants) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, content) in outside_fences(text) {
        let content = without_comments(&without_code(content));
        // A number ends where the next character is not part of one.
        let ends = content.char_indices().filter(|(at, c)| {
            !c.is_ascii_digit() && content[..*at].ends_with(|c: char| c.is_ascii_digit())
        });
        for (end, _) in ends {
            let number = trailing_number(&content[..end]).trim_start_matches(['~', ',', '.']);
            let before = &content[..end - number.len()];
            let Some(unit) = unit_of(&content[end..]) else { continue };
            // Digits in a name, such as `p50` or `HTTP/2`.
            let is_name =
                before.ends_with(|c: char| c.is_alphanumeric() && c.is_ascii() || c == '/');
            if !is_name && !constants.contain(number, unit, page) {
                let message = format!(
                    "`{number} {unit}` has no source: add a comment (see xtask/src/figures.rs), or \
                     a line in xtask/src/figures/constants.txt"
                );
                problems.push(Problem { line, message });
            }
        }
    }
    problems
}

/// Returns the unit that a number before `text` has.
fn unit_of(text: &str) -> Option<&'static str> {
    let text = text.strip_prefix([' ', '-', '\u{a0}']).unwrap_or(text);
    UNITS.iter().find_map(|(written, unit)| {
        let after = text.strip_prefix(written)?;
        let is_longer = written.ends_with(|c: char| c.is_ascii_alphabetic())
            && after.starts_with(|c: char| c.is_ascii_alphanumeric());
        (!is_longer).then_some(*unit)
    })
}

/// Returns a line without inline code.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Returns a line with a mark in the place of each comment.
fn without_comments(line: &str) -> String {
    let mut parts = line.split("<!--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push('\u{fffc}');
        text.push_str(part.split_once("-->").map_or("", |(_, after)| after));
    }
    text
}
