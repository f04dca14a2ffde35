//! Checks that no unfinished code and no paths of a particular machine are committed.

use std::path::Path;

use super::Report;
use crate::rust::source::Source;

#[cfg(test)]
mod tests;

/// Folders that exist only on some machines, without slashes, so that this file itself passes.
const MACHINE_ROOTS: &[&str] = &["root", "work", "home", "Users"];

/// Words that mark code as unfinished, in two parts for the same reason.
const MARKS: &[&str] = &[concat!("FIX", "ME"), concat!("X", "XX")];

/// Macros that stand for missing code.
const PLACEHOLDERS: &[&str] = &["todo", "unimplemented"];

/// Checks any file for absolute paths of a machine.
pub fn check_text(path: &Path, text: &str, report: &mut Report) {
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = machine_path(line) {
            let message = format!("`{found}` is an absolute path of a particular machine");
            report.problem(path, index + 1, message);
        }
    }
}

/// Checks Rust files for placeholders, marks and disabled tests. The steps of the tour may have
/// placeholders.
pub fn check_code(source: &Source<'_>, report: &mut Report) {
    if source.path.starts_with("tour") {
        return;
    }
    for (at, token) in source.tokens.iter().enumerate() {
        if PLACEHOLDERS.contains(&token.text) && source.text(at + 1) == "!" {
            report.problem(source.path, token.line, format!("`{}!` left in code", token.text));
        }
        if source.matches(at, &["#", "[", "ignore"]) {
            let message = "a test disabled with `#[ignore]` checks nothing";
            report.problem(source.path, token.line, message);
        }
    }
    for comment in &source.comments {
        for (index, line) in comment.text.lines().enumerate() {
            let at_line = comment.line + index;
            for mark in MARKS.iter().filter(|mark| has_word(line, mark)) {
                report.problem(source.path, at_line, format!("`{mark}` left in a comment"));
            }
            for name in PLACEHOLDERS.iter().filter(|name| has_word(line, &format!("{name}!"))) {
                report.problem(source.path, at_line, format!("`{name}!` left in a comment"));
            }
        }
    }
}

/// Returns the first absolute path on `line` that starts with one of the machine folders.
fn machine_path(line: &str) -> Option<&str> {
    for root in MACHINE_ROOTS {
        for (at, _) in line.match_indices(&format!("/{root}/")) {
            // After such a character, it is the middle of a longer path or address.
            let continues_path = |c: char| c.is_alphanumeric() || "._-~*})]>$%".contains(c);
            if !line[..at].ends_with(continues_path) {
                let is_end = |c: char| c.is_whitespace() || "\"'`,;:)>]}".contains(c);
                let end = line[at..].find(is_end).map_or(line.len(), |len| at + len);
                return Some(&line[at..end]);
            }
        }
    }
    None
}

fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        !line[..at].ends_with(is_part) && !line[at + word.len()..].starts_with(is_part)
    })
}
