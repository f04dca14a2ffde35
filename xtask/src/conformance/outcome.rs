//! The outcomes of tests.

use std::collections::BTreeMap;

use super::lists::Tests;
use crate::json::quoted;

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    Passed,
    /// Ignored by an attribute in its file.
    Ignored,
    /// Failed; contains the end of its output.
    Failed(String),
    /// Killed at the time limit; contains the end of its output.
    Hung(String),
}

impl Outcome {
    pub fn word(&self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Ignored => "ignored",
            Outcome::Failed(_) => "failed",
            Outcome::Hung(_) => "hung",
        }
    }
}

/// The outcome of a test file.
#[derive(Debug)]
pub enum FileOutcome {
    /// The compiler's first error.
    DoesNotCompile(String),
    Ran(BTreeMap<String, Outcome>),
}

/// The outcomes of all test files, by name.
#[derive(Debug, Default)]
pub struct Outcomes(pub BTreeMap<String, FileOutcome>);

impl Outcomes {
    pub fn file(&self, file: &str) -> Option<&FileOutcome> {
        self.0.get(file)
    }

    /// Returns the test's outcome, or `None` if its file did not compile or has no such test.
    pub fn test(&self, file: &str, test: &str) -> Option<&Outcome> {
        match self.0.get(file) {
            Some(FileOutcome::Ran(tests)) => tests.get(test),
            _ => None,
        }
    }

    pub fn passing(&self) -> Tests {
        let mut passing = Tests::default();
        for (file, outcome) in &self.0 {
            let FileOutcome::Ran(tests) = outcome else { continue };
            if tests.is_empty() {
                passing.add(file, None);
            }
            for (test, _) in tests.iter().filter(|(_, outcome)| **outcome == Outcome::Passed) {
                passing.add(file, Some(test));
            }
        }
        passing
    }

    /// Returns each file and test that did not pass.
    pub fn failing(&self) -> Vec<(&str, String)> {
        let mut failing = Vec::new();
        for (file, outcome) in &self.0 {
            match outcome {
                FileOutcome::DoesNotCompile(error) => failing.push((file.as_str(), error.clone())),
                FileOutcome::Ran(tests) => failing.extend(
                    tests.iter().filter(|(_, outcome)| **outcome != Outcome::Passed).map(
                        |(test, outcome)| (file.as_str(), format!("{test} {}", outcome.word())),
                    ),
                ),
            }
        }
        failing
    }

    pub fn to_json(&self, suite: &str) -> String {
        let mut broken = Vec::new();
        let mut results = Vec::new();
        for (file, outcome) in &self.0 {
            let file = quoted(file);
            match outcome {
                FileOutcome::DoesNotCompile(error) => {
                    broken.push(format!("  {file}: {}", quoted(error)));
                }
                FileOutcome::Ran(tests) => {
                    let line = |(test, outcome): (&String, &Outcome)| {
                        format!("   {}: {}", quoted(test), quoted(outcome.word()))
                    };
                    let tests: Vec<String> = tests.iter().map(line).collect();
                    results.push(format!("  {file}: {{\n{}\n  }}", tests.join(",\n")));
                }
            }
        }
        format!(
            "{{\n \"suite\": {},\n \"broken\": {{\n{}\n }},\n \"results\": {{\n{}\n }}\n}}\n",
            quoted(suite),
            broken.join(",\n"),
            results.join(",\n")
        )
    }
}
