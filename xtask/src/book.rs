//! `cargo xtask book`: checks the guide in `docs/` as a book, and builds it with mdBook.
//!
//! | file | contents |
//! |---|---|
//! | `book/page.rs` | reads the headings, code blocks and links of a Markdown file |
//! | `book/commands.rs` | checks that the commands and code on all pages name what exists, and are tested |
//! | `book/links.rs` | checks that relative links and anchors resolve |
//! | `book/languages.rs` | checks that the English and the Chinese pages have the same parts |
//! | `book/summary.rs` | checks that `SUMMARY.md` lists every chapter |
//! | `book/html.rs` | checks the links of the pages that mdBook has written |
//!
//! All checks but the last one work without mdBook.

mod commands;
mod html;
mod languages;
mod links;
mod page;
mod summary;

use std::collections::BTreeMap;
use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo;
use crate::repo::{self, Files};
use page::Page;

/// The folder of the guide.
const DOCS: &str = "docs";

/// The end of a page's name in each language.
const ENGLISH: &str = ".md";
const CHINESE: &str = ".zh-CN.md";

/// The parsed Markdown files of the repository, by path.
type Pages = BTreeMap<PathBuf, Page>;

/// A line of a page, and what is wrong there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Problem {
    page: PathBuf,
    line: usize,
    message: String,
}

impl Problem {
    fn new(page: &Path, line: usize, message: impl Into<String>) -> Problem {
        Problem { page: page.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.page.display(), self.line, self.message)
    }
}

/// Checks the book, and builds it if mdBook is installed.
pub fn run() -> Result<(), String> {
    let root = repo::root();
    let files = repo::load(&root)?;
    let problems = check(&files);
    for problem in &problems {
        println!("error: {problem}");
    }
    if !problems.is_empty() {
        return Err(format!("book found {} errors, listed above", problems.len()));
    }
    println!(
        "    {} chapters in two languages; all links and commands resolve",
        chapters(&files).len()
    );
    build(&root)
}

fn check(files: &Files) -> Vec<Problem> {
    let is_page = |path: &Path| path.extension().is_some_and(|extension| extension == "md");
    let pages = files.iter().filter(|(path, _)| is_page(path));
    let pages: Pages = pages.map(|(path, text)| (path.clone(), Page::parse(text))).collect();
    let chapters = chapters(files);
    let mut problems = links::check(files, &pages);
    problems.extend(commands::check(files, &pages));
    problems.extend(languages::check(&pages, &chapters));
    problems.extend(summary::check(&pages, &chapters));
    problems.sort();
    problems
}

/// Returns the names of the chapters without the language, in order: files whose name begins with a
/// digit.
fn chapters(files: &Files) -> Vec<String> {
    let names = files.keys().filter(|path| path.parent() == Some(Path::new(DOCS)));
    let names = names.filter_map(|path| path.file_name()?.to_str());
    let names = names.filter(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    let stems = names.filter_map(|name| name.strip_suffix(CHINESE).or(name.strip_suffix(ENGLISH)));
    let mut stems: Vec<String> = stems.map(str::to_owned).collect();
    stems.sort();
    stems.dedup();
    stems
}

/// Returns the path of a page of the guide in one language.
fn path_of(stem: &str, language: &str) -> PathBuf {
    Path::new(DOCS).join(format!("{stem}{language}"))
}

/// Calls `mdbook build` and checks the links of its pages. Without mdBook, prints how to install
/// it: the checks of the sources have passed.
fn build(root: &Path) -> Result<(), String> {
    let out = cargo::target_dir(root).join("book");
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(root.join(DOCS)).arg("--dest-dir").arg(&out);
    // Variables of mdBook 0.5, and of the versions before.
    mdbook.env("MDBOOK_LOG", "warn").env("RUST_LOG", "warn");
    match mdbook.status() {
        Ok(status) if status.success() => {
            let problems = html::check(&out)?;
            for problem in &problems {
                println!("error: {problem}");
            }
            if problems.is_empty() {
                println!("    built {}", out.join("index.html").display());
                Ok(())
            } else {
                Err(format!("{} links of the built book lead nowhere", problems.len()))
            }
        }
        Ok(status) => Err(format!("`mdbook build docs` failed: {status}")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            println!(
                "    mdbook is not installed, so no HTML was built (`cargo install mdbook --locked`)"
            );
            Ok(())
        }
        Err(error) => Err(format!("could not start `mdbook`: {error}")),
    }
}

#[cfg(test)]
mod tests;
