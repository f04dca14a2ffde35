//! Finds retired names, phrases to avoid, and comment lines that are too long.
//!
//! | file | checks |
//! |---|---|
//! | `retired.rs`, `retired.txt` | identifiers and file names under `crates/` |
//! | `phrases.rs`, `phrases.txt` | comments under `crates/`, documents for contributors, the guide |
//! | `width.rs` | the length of comment lines under `crates/` |
//!
//! `list.rs` reads the two text files. `prose.rs` tells prose from code in comments and Markdown.

use std::path::Path;

use super::Report;
use crate::rust::source::Source;
use list::Entry;

mod list;
mod phrases;
mod prose;
mod retired;
mod width;

#[cfg(test)]
mod tests;

/// The two word lists.
pub struct Words {
    retired: Vec<Entry<'static>>,
    phrases: Vec<Entry<'static>>,
}

impl Words {
    pub fn new() -> Words {
        Words { retired: retired::list(), phrases: phrases::list() }
    }

    /// Checks the name of any file, and what a document says.
    pub fn check_file(&self, path: &Path, text: &str, report: &mut Report) {
        if path.starts_with("crates") {
            retired::check_path(path, &self.retired, report);
        }
        if is_for_contributors(path) || is_guide(path) {
            phrases::check_markdown(path, text, &self.phrases, report);
        }
    }

    /// Checks the code and the comments of a Rust file.
    pub fn check_rust(&self, source: &Source<'_>, text: &str, report: &mut Report) {
        if !source.path.starts_with("crates") {
            return;
        }
        retired::check_code(source, &self.retired, report);
        phrases::check_comments(source, &self.phrases, report);
        width::check(source, text, report);
    }
}

/// Returns whether a file is the contents page or a chapter of the guide, in English.
fn is_guide(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    path.parent() == Some(Path::new("docs"))
        && (name == "README.md" || name.starts_with(|first: char| first.is_ascii_digit()))
        && name.ends_with(".md")
        && !name.ends_with(".zh-CN.md")
}

/// Returns whether a file is checked as a document for contributors. Other READMEs are not checked
/// yet.
fn is_for_contributors(path: &Path) -> bool {
    let is_markdown = path.extension().is_some_and(|extension| extension == "md");
    path == Path::new("CONTRIBUTING.md")
        || path == Path::new("ARCHITECTURE.md")
        || (is_markdown && path.parent() == Some(Path::new("docs/design")))
}
