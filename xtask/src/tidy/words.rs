//! The words that the project agreed on.
//!
//! | file | checks |
//! |---|---|
//! | `retired.rs`, `retired.txt` | identifiers and file names under `crates/` |
//!
//! `list.rs` reads the text file.

use std::path::Path;

use super::Report;
use crate::rust::source::Source;
use list::Entry;

mod list;
mod retired;

/// The word list.
pub struct Words {
    retired: Vec<Entry<'static>>,
}

impl Words {
    pub fn new() -> Words {
        Words { retired: retired::list() }
    }

    /// Checks the name of any file.
    pub fn check_file(&self, path: &Path, report: &mut Report) {
        if path.starts_with("crates") {
            retired::check_path(path, &self.retired, report);
        }
    }

    /// Checks the code of a Rust file.
    pub fn check_rust(&self, source: &Source<'_>, report: &mut Report) {
        if source.path.starts_with("crates") {
            retired::check_code(source, &self.retired, report);
        }
    }
}
