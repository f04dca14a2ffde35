//! Finds names that were replaced.

use std::path::Path;

use super::list::{self, Entry};
use crate::rust::lex::Kind;
use crate::rust::source::Source;
use crate::tidy::Report;

#[cfg(test)]
mod tests;

/// Returns the names in `retired.txt`.
pub fn list() -> Vec<Entry<'static>> {
    list::parse("retired.txt", include_str!("retired.txt"))
}

/// Checks the identifiers of a file. Comments and strings are not code.
pub fn check_code(source: &Source<'_>, retired: &[Entry<'_>], report: &mut Report) {
    let mut last = (0, "");
    for token in source.tokens.iter().filter(|token| token.kind == Kind::Ident) {
        // A name that a line repeats is reported once.
        let here = (token.line, token.text);
        if let Some(entry) = retired.iter().find(|e| e.old == token.text && here != last) {
            let message = format!("`{}` is a retired name: write `{}`", entry.old, entry.new);
            report.problem(source.path, token.line, message);
            last = here;
        }
    }
}

/// Checks the names of a file and its folders. An entry with a slash has to match several in a row.
pub fn check_path(path: &Path, retired: &[Entry<'_>], report: &mut Report) {
    let text = path.with_extension("").to_string_lossy().replace('\\', "/");
    let slashed = format!("/{text}/");
    for entry in retired.iter().filter(|entry| slashed.contains(&format!("/{}/", entry.old))) {
        let message =
            format!("`{}` is a retired file name: rename it to `{}`", entry.old, entry.new);
        report.problem(path, 1, message);
    }
}
