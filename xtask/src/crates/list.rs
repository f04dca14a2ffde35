//! The list of crates. A line is one of
//!
//! ```text
//! # a comment
//! NAME VERSION [quick] [cargo's arguments]
//!     skip TARGET TEST: why
//!     skip TARGET START_OF_TESTS*: why
//!     skip TARGET: why
//!     copy FILE TO: why
//! ```
//!
//! A target is `lib`, `bin/NAME` or `tests/NAME`. `quick` marks the crates that CI runs. `copy` puts a
//! file of the package where the crate's repository has it.

use std::fs;
use std::path::Path;

use crate::probe::failed;

#[cfg(test)]
mod tests;

/// The path of the list in the repository.
pub const PATH: &str = "xtask/crates/list.txt";

/// A crate whose tests are run.
#[derive(Debug, PartialEq)]
pub struct Entry {
    pub name: String,
    /// The exact version.
    pub version: String,
    pub is_quick: bool,
    /// Arguments for `cargo build`, such as features.
    pub args: Vec<String>,
    pub skips: Vec<Skip>,
    /// Files to copy, each with where to, relative to the package.
    pub copies: Vec<(String, String)>,
}

/// Tests that are not run.
#[derive(Debug, PartialEq)]
pub struct Skip {
    target: String,
    /// The test, or the start of several with `*`, or `None` for the whole target.
    test: Option<String>,
}

impl Entry {
    /// Whether a test is not run, or a whole target if `test` is `None`.
    pub fn skips(&self, target: &str, test: Option<&str>) -> bool {
        self.skips.iter().filter(|skip| skip.target == target).any(|skip| {
            match (&skip.test, test) {
                (None, _) => true,
                (Some(skipped), Some(test)) => match skipped.strip_suffix('*') {
                    Some(start) => test.starts_with(start),
                    None => test == skipped,
                },
                (Some(_), None) => false,
            }
        })
    }
}

pub fn load(root: &Path) -> Result<Vec<Entry>, String> {
    let path = root.join(PATH);
    parse(&fs::read_to_string(&path).map_err(|e| failed("read", &path, &e))?)
}

fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries: Vec<Entry> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let wrong = |what: &str| format!("{PATH}:{}: {what}: `{line}`", index + 1);
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(skip) = line.strip_prefix("    skip ") {
            let (what, why) =
                skip.split_once(": ").ok_or_else(|| wrong("a skip needs a reason"))?;
            if why.trim().is_empty() {
                return Err(wrong("a skip needs a reason"));
            }
            let (target, test) = match what.split_once(' ') {
                Some((target, test)) => (target, Some(test.to_owned())),
                None => (what, None),
            };
            let entry = entries.last_mut().ok_or_else(|| wrong("no crate before this line"))?;
            entry.skips.push(Skip { target: target.to_owned(), test });
            continue;
        }
        if let Some(copy) = line.strip_prefix("    copy ") {
            let (what, _why) =
                copy.split_once(": ").ok_or_else(|| wrong("a copy needs a reason"))?;
            let (from, to) = what.split_once(' ').ok_or_else(|| wrong("a copy needs two paths"))?;
            let entry = entries.last_mut().ok_or_else(|| wrong("no crate before this line"))?;
            entry.copies.push((from.to_owned(), to.to_owned()));
            continue;
        }
        let mut words = line.split_whitespace().map(str::to_owned).peekable();
        let name = words.next().unwrap_or_default();
        let version = words.next().ok_or_else(|| wrong("no version"))?;
        let is_quick = words.next_if(|word| word == "quick").is_some();
        let args = words.collect();
        entries.push(Entry {
            name,
            version,
            is_quick,
            args,
            skips: Vec::new(),
            copies: Vec::new(),
        });
    }
    Ok(entries)
}
