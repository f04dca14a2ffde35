//! Finds comment lines wider than code may be. rustfmt does not wrap comments.

use super::prose;
use crate::rust::source::Source;
use crate::tidy::Report;

#[cfg(test)]
mod tests;

/// The same as `max_width` in `rustfmt.toml`, in characters.
const COLUMNS_MAX: usize = 100;

/// Checks every line that begins with a comment, or lies in one. Diagrams and tables have no
/// exception: a diagram can be drawn narrower, and the text of a table's cell can be shorter or
/// move into a sentence. A comment behind code is left to rustfmt, which measures the whole line.
pub fn check(source: &Source<'_>, text: &str, report: &mut Report) {
    let lines: Vec<&str> = text.lines().collect();
    let mut checked_to = 0;
    for comment in &source.comments {
        for number in comment.line.max(checked_to + 1)..=comment.last_line {
            let line = lines.get(number - 1).unwrap_or(&"").trim_end();
            let columns = line.chars().count();
            let is_behind_code = number == comment.line && !is_comment_start(line);
            if columns > COLUMNS_MAX && !is_behind_code && !is_only_a_url(line) {
                let message =
                    format!("comment line of {columns} columns: wrap it at {COLUMNS_MAX}");
                report.problem(source.path, number, message);
            }
        }
        checked_to = checked_to.max(comment.last_line);
    }
}

fn is_comment_start(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("/*")
}

/// Returns whether a line holds nothing but a URL, or the definition of a link: `[label]: URL`.
fn is_only_a_url(line: &str) -> bool {
    let mut words = prose::without_marker(line.trim_start()).split_whitespace();
    let is_label = |word: &&str| word.starts_with('[') && word.ends_with("]:");
    let first = words.next();
    let url = if first.as_ref().is_some_and(is_label) { words.next() } else { first };
    url.is_some_and(|word| word.contains("://")) && words.next().is_none()
}
