//! `cargo xtask figures`: checks that the figures in the documents are those of the benchmarks.
//!
//! A figure in a Markdown file is a number with a comment directly behind it, which readers do not
//! see. The comment says where the number comes from:
//!
//! ```text
//! 42<!--= sched/spawn_many wall wakeful-mt --> ns
//! ```
//!
//! A sentence about many figures has a comment that names a lower bound of all ratios to Tokio:
//!
//! ```text
//! tasks take less time than on Tokio<!--? sched : wall wakeful-mt above 1 -->
//! ```
//!
//! `request.rs` lists what such comments may say. The check compares each number with its source,
//! rounded as it is in the document. `--write` replaces the numbers that differ, and draws the
//! pictures anew.
//!
//! Outside of [`LENIENT`] folders, each number with a unit must have such a comment, or a line in
//! `constants.txt`, which names the code, or says why there is none.
//!
//! | file | role |
//! |---|---|
//! | `sources.rs` | the files that the figures come from |
//! | `request.rs` | what a comment asks for, and how the number is written |
//! | `page.rs` | the comments of a page |
//! | `unmarked.rs`, `constants.rs` | numbers without a comment |
//! | `picture.rs` | the picture of latencies beside blocked workers |

use std::fs;
use std::path::{Path, PathBuf};

use crate::probe::failed;
use crate::repo::{self, Files};
use constants::Constants;
use picture::Language;
use sources::Sources;

mod constants;
mod page;
mod picture;
mod request;
mod sources;
mod unmarked;

/// Folders whose documents may have numbers with a unit without a comment: the results themselves,
/// and the tour, whose times belong to its scenes.
const LENIENT: &[&str] = &["bench", "fuzz", "tour"];

/// The pictures, which `--write` draws.
const PICTURES: [(&str, Language); 2] =
    [("docs/latency.svg", Language::English), ("docs/latency.zh-CN.svg", Language::Chinese)];

/// Checks all documents, or updates them.
pub fn run(options: &[&str]) -> Result<(), String> {
    match options {
        [] => check(),
        ["--write"] => write(),
        _ => Err("the only option of `figures` is --write".to_owned()),
    }
}

/// Checks all documents, for `ci`.
pub fn ci() -> Result<(), String> {
    check()
}

fn check() -> Result<(), String> {
    let files = repo::load(&repo::root())?;
    let sources = Sources::read(&files)?;
    let mut problems = Vec::new();
    let mut figures = 0;
    for (path, text) in markdown(&files) {
        let found = page::check(text, &sources);
        figures += found.figures;
        problems.extend(found.problems.iter().map(|problem| problem.at(path)));
    }
    for (path, drawn) in drawn(&sources)? {
        if files.get(&path) != Some(&drawn) {
            problems.push(format!("{}: not drawn from bench/RESULTS.md", path.display()));
        }
    }
    let (constants, stale) = Constants::read(&files);
    problems.extend(stale);
    for (path, text) in markdown(&files) {
        if !LENIENT.iter().any(|folder| path.starts_with(folder)) {
            let unmarked = unmarked::find(path, text, &constants);
            problems.extend(unmarked.iter().map(|problem| problem.at(path)));
        }
    }
    for problem in &problems {
        println!("error: {problem}");
    }
    println!("figures: {figures} figures checked, {} errors", problems.len());
    if problems.is_empty() {
        return Ok(());
    }
    Err("figures differ from their sources; `cargo xtask figures --write` updates those with a \
         comment"
        .to_owned())
}

fn write() -> Result<(), String> {
    let root = repo::root();
    let files = repo::load(&root)?;
    let sources = Sources::read(&files)?;
    let mut updated: Vec<(PathBuf, String)> = drawn(&sources)?;
    for (path, text) in markdown(&files) {
        let text = page::update(text, &sources)
            .map_err(|problem| format!("nothing was written: {}", problem.at(path)))?;
        updated.push((path.clone(), text));
    }
    for (path, text) in updated {
        if files.get(&path) != Some(&text) {
            fs::write(root.join(&path), text).map_err(|e| failed("write", &path, &e))?;
            println!("updated {}", path.display());
        }
    }
    check()
}

fn drawn(sources: &Sources) -> Result<Vec<(PathBuf, String)>, String> {
    PICTURES
        .iter()
        .map(|(path, language)| Ok((PathBuf::from(path), picture::draw(sources, *language)?)))
        .collect()
}

fn markdown(files: &Files) -> impl Iterator<Item = (&PathBuf, &String)> {
    files.iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == "md"))
}

/// What is wrong on a line of a page.
#[derive(Debug, PartialEq)]
pub struct Problem {
    line: usize,
    message: String,
}

impl Problem {
    fn at(&self, path: &Path) -> String {
        format!("{}:{}: {}", path.display(), self.line, self.message)
    }
}
