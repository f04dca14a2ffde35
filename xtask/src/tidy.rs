//! `cargo xtask tidy`: rules about the repository that the compiler and clippy do not know.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::repo::{self, Files, Package};
use crate::rust::source::Source;
use words::Words;

mod cycles;
mod dead_files;
mod layers;
mod leftovers;
mod safety;
mod size;
mod words;

/// What the checks found.
#[derive(Default)]
pub struct Report {
    /// Broken rules. One is enough to fail.
    pub problems: Vec<Finding>,
    /// Missed goals. They do not fail the check: reviewers decide.
    pub notes: Vec<Finding>,
}

/// A line of a file, and what is wrong there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    file: PathBuf,
    line: usize,
    message: String,
}

impl Report {
    fn problem(&mut self, file: &Path, line: usize, message: impl Into<String>) {
        self.problems.push(Finding { file: file.to_owned(), line, message: message.into() });
    }

    fn note(&mut self, file: &Path, line: usize, message: impl Into<String>) {
        self.notes.push(Finding { file: file.to_owned(), line, message: message.into() });
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file.display(), self.line, self.message)
    }
}

/// Checks the repository and prints what it finds; fails if a rule is broken.
pub fn run() -> Result<(), String> {
    let files = repo::load(&repo::root())?;
    let mut report = check(&files);
    report.notes.sort();
    report.problems.sort();
    for note in &report.notes {
        println!("note: {note}");
    }
    for problem in &report.problems {
        println!("error: {problem}");
    }
    let (problems, notes) = (report.problems.len(), report.notes.len());
    println!("tidy: {} files, {problems} errors, {notes} notes", files.len());
    if problems == 0 { Ok(()) } else { Err(format!("tidy found {problems} errors, listed above")) }
}

fn check(files: &Files) -> Report {
    let mut report = Report::default();
    let packages: Vec<Package> = repo::packages(files);
    layers::check(files, &packages, &mut report);
    cycles::check(files, &packages, &mut report);
    dead_files::check(files, &packages, &mut report);
    let words = Words::new();
    for (path, text) in files {
        leftovers::check_text(path, text, &mut report);
        words.check_file(path, text, &mut report);
        if path.extension().is_some_and(|extension| extension == "rs") {
            let source = Source::new(path, text);
            leftovers::check_code(&source, &mut report);
            safety::check(&source, &mut report);
            size::check(&source, &mut report);
            words.check_rust(&source, text, &mut report);
        }
    }
    report
}
