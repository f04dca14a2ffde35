//! Finds retired names, phrases to avoid, and comment lines that are too long.
//!
//! | file | checks |
//! |---|---|
//! | `retired.rs`, `retired.txt` | identifiers and file names under `crates/` |
//! | `phrases.rs`, `phrases.txt` | comments under `crates/`, and the documents for contributors |
//! | `width.rs` | the length of comment lines under `crates/` |
//!
//! `list.rs` reads the two text files. `prose.rs` tells prose from code in comments and Markdown.

use std::path::Path;

use super::Report;
use crate::repo::Files;
use crate::rust::source::Source;
use list::Entry;

mod list;
mod phrases;
mod prose;
mod retired;
mod width;

#[cfg(test)]
mod tests;

/// Files whose comments are not checked, because the redesign of the scheduler deletes them and
/// rewriting them first would be wasted. Never add an entry. Delete the list when it is empty.
const DELETED_SOON: &[&str] = &[
    "crates/wakeful-runtime/src/scheduler/luck.rs",
    "crates/wakeful-runtime/src/scheduler/audit.rs",
    "crates/wakeful-runtime/src/scheduler/multi_thread/trial.rs",
    "crates/wakeful-runtime/src/scheduler/multi_thread/retreat.rs",
    "crates/wakeful-runtime/src/scheduler/multi_thread/crowd.rs",
    "crates/wakeful-runtime/src/scheduler/multi_thread/step_back.rs",
    "crates/wakeful-runtime/src/scheduler/multi_thread/gather.rs",
    "crates/wakeful-runtime/src/scheduler/multi_thread/share.rs",
];

/// This file, for findings about the list above.
const THIS_FILE: &str = "xtask/src/tidy/words.rs";

/// The two word lists.
pub struct Words {
    retired: Vec<Entry<'static>>,
    phrases: Vec<Entry<'static>>,
}

impl Words {
    pub fn new() -> Words {
        Words { retired: retired::list(), phrases: phrases::list() }
    }

    /// Checks the name of any file, and what a document for contributors says.
    pub fn check_file(&self, path: &Path, text: &str, report: &mut Report) {
        if path.starts_with("crates") {
            retired::check_path(path, &self.retired, report);
        }
        if is_for_contributors(path) {
            phrases::check_markdown(path, text, &self.phrases, report);
        }
    }

    /// Checks the code and the comments of a Rust file.
    pub fn check_rust(&self, source: &Source<'_>, text: &str, report: &mut Report) {
        if !source.path.starts_with("crates") {
            return;
        }
        retired::check_code(source, &self.retired, report);
        if !DELETED_SOON.iter().any(|exempt| source.path == Path::new(exempt)) {
            phrases::check_comments(source, &self.phrases, report);
            width::check(source, text, report);
        }
    }
}

/// Reports exempt files that are gone.
pub fn check_exemptions(files: &Files, report: &mut Report) {
    for exempt in DELETED_SOON.iter().filter(|exempt| !files.contains_key(Path::new(exempt))) {
        let message = format!("`{exempt}` no longer exists: delete it from `DELETED_SOON`");
        report.problem(Path::new(THIS_FILE), 1, message);
    }
}

/// Returns whether a file is checked as a document for contributors. The guide and the READMEs are
/// not checked yet.
fn is_for_contributors(path: &Path) -> bool {
    let is_markdown = path.extension().is_some_and(|extension| extension == "md");
    path == Path::new("CONTRIBUTING.md")
        || path == Path::new("ARCHITECTURE.md")
        || (is_markdown && path.parent() == Some(Path::new("docs/design")))
}
