//! The outcomes held against the lists: what passes on Tokio, and which gaps are known.

use super::lists::Tests;
use super::outcome::{FileOutcome, Outcome, Outcomes};

#[cfg(test)]
mod tests;

/// Whether everything is as it should be.
#[derive(Debug, Default)]
pub struct Verdict {
    passed: usize,
    of: usize,
    /// One for each file in which something fails.
    lines: Vec<String>,
    /// What fails and is not a known gap, with what it printed.
    unexpected: Vec<String>,
    /// Known gaps that are none any more.
    closed: Vec<String>,
}

/// Compares; `gaps` is the part of `expected` that is known to fail.
pub fn of(expected: &Tests, gaps: &Tests, outcomes: &Outcomes) -> Verdict {
    let mut verdict = Verdict::default();
    for file in expected.files() {
        verdict.look_at(file, expected, gaps, outcomes);
    }
    verdict
}

impl Verdict {
    fn look_at(&mut self, file: &str, expected: &Tests, gaps: &Tests, outcomes: &Outcomes) {
        let tests: Vec<&str> = expected.of(file).collect();
        let passed_before = self.passed;
        let mut failing = Vec::new();
        for test in &tests {
            let outcome = outcomes.test(file, test);
            if outcome != Some(&Outcome::Passed) {
                failing.push(format!("{test} {}", outcome.map_or("is missing", Outcome::word)));
            }
            self.note(&format!("{file} {test}"), outcome, gaps.has(file, test));
        }
        if let Some(FileOutcome::DoesNotCompile(error)) = outcomes.file(file) {
            failing = vec![format!("does not compile: {error}")];
            if tests.is_empty() && !gaps.has_file(file) {
                self.unexpected.push(file.to_owned());
            }
        } else if tests.is_empty() && gaps.has_file(file) {
            self.closed.push(file.to_owned());
        }
        self.of += tests.len();
        if !failing.is_empty() {
            let count = format!("{} of {}", self.passed - passed_before, tests.len());
            self.lines.push(format!("{file:34} {count:>10}  {}", failing.join(", ")));
        }
    }

    fn note(&mut self, name: &str, outcome: Option<&Outcome>, is_gap: bool) {
        match (outcome, is_gap) {
            (Some(Outcome::Passed), is_gap) => {
                self.passed += 1;
                self.closed.extend(is_gap.then(|| name.to_owned()));
            }
            (_, true) => {}
            (Some(Outcome::Failed(said) | Outcome::Hung(said)), false) => {
                self.unexpected.push(format!("{name}\n{}", indented(said)));
            }
            (_, false) => self.unexpected.push(name.to_owned()),
        }
    }

    pub fn print(&self, suite: &str) {
        for line in &self.lines {
            println!("{line}");
        }
        println!("{suite}: {} of {} pass", self.passed, self.of);
    }

    /// Fails if something fails that is not a known gap, or a known gap is closed.
    pub fn result(&self, suite: &str) -> Result<(), String> {
        let mut text = String::new();
        if !self.unexpected.is_empty() {
            text.push_str(&format!("{suite}: passes on Tokio and not here:\n"));
            text.push_str(&self.unexpected.join("\n"));
        }
        if !self.closed.is_empty() {
            text.push_str(&format!("\n{suite}: passes; take it out of the known gaps:\n"));
            text.push_str(&self.closed.join("\n"));
        }
        if text.is_empty() { Ok(()) } else { Err(text) }
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("        {line}")).collect();
    lines.join("\n")
}
