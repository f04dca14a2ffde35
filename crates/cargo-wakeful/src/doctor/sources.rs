//! Unstable and private items of Tokio that Wakeful does not have, found in sources by their names.
//!
//! This is a search for words, not a compilation. It reads each crate that depends on Tokio.
//! Crates that are not members of the workspace name unstable items only behind
//! `cfg(tokio_unstable)`. They count if that is set, and then as a note, because a feature may
//! exclude them as well.

use std::fs;
use std::path::{Path, PathBuf};

use super::Finding;

#[cfg(test)]
mod tests;

/// A crate that depends on Tokio.
pub struct Package {
    pub name: String,
    pub dir: PathBuf,
    /// Whether it belongs to the workspace.
    pub is_member: bool,
}

/// An item of Tokio that Wakeful does not have, or has under another name.
struct Item {
    /// The words to search for; the last characters may be the start of a longer name.
    words: &'static [&'static str],
    check: &'static str,
    is_problem: bool,
    scope: Scope,
    what: &'static str,
    advice: &'static str,
}

/// The crates in which an item matters.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    Members,
    /// Members, and dependencies if `tokio_unstable` is set.
    Unstable,
    All,
}

const ITEMS: &[Item] = &[
    Item {
        words: &["tokio::runtime::dump", "runtime::dump::", "task::trace::"],
        check: "task-dump",
        is_problem: true,
        scope: Scope::Unstable,
        what: "Tokio's task dumps (unstable), which Wakeful does not have",
        advice: "Leave this code out on Wakeful. WAKEFUL_STALL_REPORT=1 names tasks that block.",
    },
    Item {
        words: &["tokio::macros::support", "ToSocketAddrsPriv", "__tokio_select_util"],
        check: "private",
        is_problem: true,
        scope: Scope::All,
        what: "a private item of Tokio, which differs in Wakeful or is not there",
        advice: "Use the public macro or trait instead; `cargo wakeful check` shows whether the crate compiles.",
    },
    Item {
        words: &["\"tokio-runtime-worker", "\"tokio-rt-worker"],
        check: "thread-name",
        is_problem: false,
        scope: Scope::Members,
        what: "the name of Tokio's worker threads; on Wakeful they are called `wakeful-worker`",
        advice: "Set the name with `Builder::thread_name`, which works on both.",
    },
];

/// Searches the sources of these crates. `is_unstable` says whether `tokio_unstable` is set.
pub fn check(packages: &[Package], is_unstable: bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let mut files = Vec::new();
        for folder in ["src", "tests", "benches", "examples"] {
            // The tests of a dependency are not built.
            if folder == "src" || package.is_member {
                rust_files(&package.dir.join(folder), &mut files);
            }
        }
        let matters = |item: &&Item| match item.scope {
            Scope::Members => package.is_member,
            Scope::Unstable => package.is_member || is_unstable,
            Scope::All => true,
        };
        for item in ITEMS.iter().filter(matters) {
            findings.extend(search(package, &files, item));
        }
    }
    findings
}

fn search(package: &Package, files: &[PathBuf], item: &Item) -> Option<Finding> {
    let mut places = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).unwrap_or_default();
        for (number, line) in text.lines().enumerate() {
            if is_code(line) && item.words.iter().any(|word| names(line, word)) {
                let shown = file.strip_prefix(&package.dir).unwrap_or(file);
                places.push(format!("{}:{}", shown.display(), number + 1));
            }
        }
    }
    let (first, rest) = places.split_first()?;
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    let message = format!("`{}` names {} ({first}{more})", package.name, item.what);
    if item.is_problem && !package.is_member && item.scope == Scope::Unstable {
        let advice = "`cargo wakeful check` shows whether the crate compiles. If not, build it without tokio_unstable,\n\
                      or without the feature that needs these items.";
        return Some(Finding::note(item.check, message).advice(advice));
    }
    let finding = if item.is_problem { Finding::problem } else { Finding::note };
    Some(finding(item.check, message).advice(item.advice))
}

/// Returns whether the line is more than a comment.
fn is_code(line: &str) -> bool {
    !line.trim_start().starts_with("//")
}

/// Returns whether the line contains the word, not in the middle of a longer name.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !word.starts_with(char::is_alphanumeric)
            || before.is_none_or(|c| c == '_' || !c.is_alphanumeric())
    })
}

fn rust_files(dir: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
}
