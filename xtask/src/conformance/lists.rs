//! The committed lists of tests: a line `file test` for each test, and `file` alone for a file
//! without tests that must compile.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[cfg(test)]
mod tests;

/// Test files and their tests.
#[derive(Debug, Default, PartialEq)]
pub struct Tests(BTreeMap<String, BTreeSet<String>>);

impl Tests {
    pub fn load(path: &Path) -> Result<Tests, String> {
        let text = fs::read_to_string(path);
        Ok(Tests::parse(&text.map_err(|e| format!("cannot read {}: {e}", path.display()))?))
    }

    pub fn parse(text: &str) -> Tests {
        let mut tests = Tests::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_whitespace();
            if let Some(file) = words.next() {
                tests.add(file, words.next());
            }
        }
        tests
    }

    pub fn save(&self, path: &Path, head: &str) -> Result<(), String> {
        fs::write(path, self.text(head))
            .map_err(|e| format!("cannot write {}: {e}", path.display()))
    }

    fn text(&self, head: &str) -> String {
        let mut text = format!("# {head}; made by `cargo xtask conformance --record`.\n");
        for (file, tests) in &self.0 {
            if tests.is_empty() {
                text.push_str(&format!("{file}\n"));
            }
            for test in tests {
                text.push_str(&format!("{file} {test}\n"));
            }
        }
        text
    }

    /// Adds a test, or a file without tests.
    pub fn add(&mut self, file: &str, test: Option<&str>) {
        let tests = self.0.entry(file.to_owned()).or_default();
        tests.extend(test.map(str::to_owned));
    }

    pub fn keep_files(&mut self, files: &[String]) {
        self.0.retain(|file, _| files.contains(file));
    }

    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the tests of a file, or none if it is not in the list.
    pub fn of<'a>(&'a self, file: &str) -> impl Iterator<Item = &'a str> {
        self.0.get(file).into_iter().flatten().map(String::as_str)
    }

    pub fn count(&self) -> usize {
        self.0.values().map(BTreeSet::len).sum()
    }
}
