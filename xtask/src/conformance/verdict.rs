//! Compares the outcomes with the list of tests that pass on Tokio.

use super::lists::Tests;
use super::outcome::{FileOutcome, Outcome, Outcomes};

#[cfg(test)]
mod tests;

/// The result of the comparison.
#[derive(Debug, Default)]
pub struct Verdict {
    passed: usize,
    of: usize,
    /// A line for each file with failures.
    lines: Vec<String>,
    /// Each failure, with its output.
    failing: Vec<String>,
    /// Each test that fails as it must, with the reason.
    known: Vec<String>,
}

/// A test that must fail: its file, its name, and why.
type Known = (&'static str, &'static str, &'static str);

/// Compares the expected tests with the outcomes. Those in `known` must fail.
pub fn of(expected: &Tests, outcomes: &Outcomes, known: &[Known]) -> Verdict {
    let mut verdict = Verdict::default();
    for file in expected.files() {
        verdict.look_at(file, expected, outcomes, known);
    }
    verdict
}

impl Verdict {
    fn look_at(&mut self, file: &str, expected: &Tests, outcomes: &Outcomes, known: &[Known]) {
        let tests: Vec<&str> = expected.of(file).collect();
        self.of += tests.len();
        if let Some(FileOutcome::DoesNotCompile(error)) = outcomes.file(file) {
            // Counts as a failure even if the file has no tests.
            self.add_line(file, 0, tests.len(), &format!("does not compile: {error}"));
            self.failing.push(format!("{file} does not compile: {error}"));
            return;
        }
        let mut failing = Vec::new();
        for test in &tests {
            let outcome = outcomes.test(file, test);
            if let Some((.., why)) = known.iter().find(|known| (known.0, known.1) == (file, *test))
            {
                if outcome == Some(&Outcome::Passed) {
                    failing.push(format!("{test} passes"));
                    self.failing.push(format!("{file} {test} passes, and is listed as failing"));
                } else {
                    self.known.push(format!("{file} {test} fails: {why}"));
                }
                continue;
            }
            let said = match outcome {
                Some(Outcome::Passed) => continue,
                Some(Outcome::Failed(said) | Outcome::Hung(said)) => indented(said),
                Some(Outcome::Ignored) | None => String::new(),
            };
            let end = outcome.map_or("is missing", Outcome::word);
            failing.push(format!("{test} {end}"));
            self.failing.push(format!("{file} {test} {end}{said}"));
        }
        let is_known =
            |test: &&&str| known.iter().any(|known| (known.0, known.1) == (file, **test));
        let passed = tests.len() - failing.len() - tests.iter().filter(is_known).count();
        self.passed += passed;
        if !failing.is_empty() {
            self.add_line(file, passed, tests.len(), &failing.join(", "));
        }
    }

    fn add_line(&mut self, file: &str, passed: usize, of: usize, why: &str) {
        let count = format!("{passed} of {of}");
        self.lines.push(format!("{file:34} {count:>10}  {why}"));
    }

    pub fn print(&self, suite: &str) {
        for line in &self.lines {
            println!("{line}");
        }
        for line in &self.known {
            println!("    {line}");
        }
        println!("{suite}: {} of {} pass", self.passed, self.of);
    }

    /// Returns an error if anything failed.
    pub fn result(&self, suite: &str) -> Result<(), String> {
        if self.failing.is_empty() {
            return Ok(());
        }
        Err(format!(
            "{suite}: these tests pass on Tokio but not on the drop-in:\n{}",
            self.failing.join("\n")
        ))
    }
}

/// Returns the lines of `text`, each on a new, indented line.
fn indented(text: &str) -> String {
    text.lines().map(|line| format!("\n        {line}")).collect()
}
