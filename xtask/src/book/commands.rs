//! What pages tell readers to type: commands of cargo, paths in manifests, and Rust code.
//!
//! Commands are not run. What they name has to exist: tasks, packages, targets and paths.

use std::path::{Path, PathBuf};

use super::links::normal;
use super::{DOCS, Pages, Problem, chapters};
use crate::repo::{self, Files, Package};

/// The folder that pages call the checkout, seen from a program beside it.
const CHECKOUT: &str = "../wakeful/";

pub fn check(files: &Files, pages: &Pages) -> Vec<Problem> {
    let names = Names { files, packages: repo::packages(files) };
    let mut problems = Vec::new();
    for path in pages.keys() {
        for (index, line) in files[path].lines().enumerate() {
            for command in commands(line) {
                if let Err(why) = names.check(command) {
                    let message = format!("{why} (`{}`)", command.trim_end());
                    problems.push(Problem::new(path, index + 1, message));
                }
            }
        }
    }
    problems.extend(manifests(pages, &names));
    problems.extend(untested_code(files, pages));
    problems
}

/// Returns the calls of cargo and bash in a line: in inline code, or the line itself in a block.
fn commands(line: &str) -> Vec<&str> {
    let whole = line.trim_start().trim_start_matches("$ ");
    let inline = line.split('`').skip(1).step_by(2);
    let all = std::iter::once(whole).chain(inline);
    let all = all.map(|code| code.split(" #").next().unwrap_or(code));
    all.filter(|code| code.starts_with("cargo ") || code.starts_with("bash ")).collect()
}

/// The names that commands may use.
struct Names<'a> {
    files: &'a Files,
    packages: Vec<Package>,
}

impl Names<'_> {
    fn check(&self, command: &str) -> Result<(), String> {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["bash", script, ..] => return self.exists(script),
            ["cargo", "xtask", task, ..] => self.is_in("xtask/src/main.rs", task)?,
            ["cargo", "wakeful", word, ..] if !word.starts_with('+') => {
                self.is_in("crates/cargo-wakeful/src/invocation.rs", word)?;
            }
            _ => {}
        }
        // What follows `--` is for the program.
        let options =
            words.iter().position(|&word| word == "--").map_or(&words[..], |at| &words[..at]);
        for pair in options.windows(2) {
            match *pair {
                ["-p", name] => self.is_package(name)?,
                ["--path" | "--manifest-path", path] => self.exists(path)?,
                ["--bin", name] => self.is_target("src/bin", name)?,
                ["--example", name] => self.is_target("examples", name)?,
                ["--test", name] => self.is_target("tests", name)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that a word is a string in the file that lists the words.
    fn is_in(&self, list: &str, word: &str) -> Result<(), String> {
        let text = self.files.get(Path::new(list)).map_or("", String::as_str);
        let is_known = word.starts_with('-') || text.contains(&format!("\"{word}\""));
        is_known.then_some(()).ok_or_else(|| format!("`{list}` does not know `{word}`"))
    }

    fn is_package(&self, name: &str) -> Result<(), String> {
        // Capital letters stand for a name of the reader's.
        let is_known = name.chars().all(|c| c.is_ascii_uppercase())
            || self.packages.iter().any(|package| package.name == name);
        is_known.then_some(()).ok_or_else(|| format!("there is no package `{name}`"))
    }

    fn is_target(&self, folder: &str, name: &str) -> Result<(), String> {
        let end = Path::new(folder).join(name);
        let is_known = self.files.keys().any(|file| {
            file.ends_with(end.with_extension("rs")) || file.ends_with(end.join("main.rs"))
        });
        is_known.then_some(()).ok_or_else(|| format!("there is no `{}`", end.display()))
    }

    fn exists(&self, path: &str) -> Result<(), String> {
        let path = path.strip_prefix(CHECKOUT).unwrap_or(path);
        let is_known = self.files.keys().any(|file| file.starts_with(path));
        is_known.then_some(()).ok_or_else(|| format!("there is no `{path}`"))
    }
}

/// Checks that `name = { path = "../wakeful/…" }` in blocks of TOML is the folder of that package.
fn manifests(pages: &Pages, names: &Names<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, page) in pages {
        for block in page.blocks.iter().filter(|block| block.info == "toml") {
            for (index, line) in block.lines.iter().enumerate() {
                let Some((name, rest)) = line.split_once('=') else { continue };
                let Some((_, rest)) = rest.split_once(CHECKOUT) else { continue };
                let dir = rest.split('"').next().unwrap_or(rest);
                let mut packages = names.packages.iter();
                if !packages.any(|found| found.dir == Path::new(dir) && found.name == name.trim()) {
                    let message = format!("`{dir}` is not the package `{}`", name.trim());
                    problems.push(Problem::new(path, block.line + 1 + index, message));
                }
            }
        }
    }
    problems
}

/// Finds Rust code that no test compiles. The guide's tests compile its chapters, and the tour's
/// tests compare its pages with its code; other pages are the documentation of an item.
fn untested_code(files: &Files, pages: &Pages) -> Vec<Problem> {
    let chapters = chapters(files);
    let documented = documented(files);
    let is_tested = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let is_chapter = path.parent() == Some(Path::new(DOCS))
            && chapters.iter().any(|stem| name.starts_with(&format!("{stem}.")));
        // The forms for issues show where the reader's code goes.
        is_chapter
            || path.starts_with("tour")
            || path.starts_with(".github")
            || documented.iter().any(|page| page == path)
    };
    let untested = pages.iter().filter(|(path, _)| !is_tested(path)).flat_map(|(path, page)| {
        let blocks = page.blocks.iter().filter(|block| block.info.starts_with("rust"));
        blocks.map(|block| Problem::new(path, block.line, "no test compiles this code"))
    });
    untested.collect()
}

/// Returns the pages that are the documentation of an item, so that their code is a doc test.
fn documented(files: &Files) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.extension().is_some_and(|e| e == "rs"))
    {
        let folder = path.parent().unwrap_or(Path::new(""));
        for rest in text.split("#[doc = include_str!(\"").skip(1) {
            let page = rest.split('"').next().unwrap_or(rest);
            pages.push(normal(&folder.join(page)));
        }
    }
    pages
}
