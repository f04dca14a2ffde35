//! Compares a crate's outcomes on the two runtimes.

use std::path::Path;

use super::LIMIT;
use super::list::Entry;
use super::results::{Counts, Difference};
use crate::conformance::build::Built;
use crate::conformance::outcome::{FileOutcome, Outcome, Outcomes};
use crate::conformance::process;

#[cfg(test)]
mod tests;

/// How often a test that passes on one runtime only is repeated on each.
pub const REPEATS: u32 = 5;

/// A crate's tests on one runtime.
pub struct Side<'a> {
    pub dir: &'a Path,
    pub built: Built,
    pub outcomes: Outcomes,
}

/// Counts the tests that pass, and repeats those that pass on one runtime only.
pub fn sides(entry: &Entry, tokio: &Side, wakeful: &Side) -> Result<Counts, String> {
    let (mut counts, differing) = first_runs(&tokio.outcomes, &wakeful.outcomes);
    counts.skipped = entry.skips.len();
    for (target, test) in differing {
        let repeat = |side: &Side| -> Result<u32, String> {
            let Some(Ok(binary)) = side.built.get(&target) else { return Ok(0) };
            let mut passed = 0;
            for _ in 0..REPEATS {
                let outcome = process::run_one(&target, binary, &test, side.dir, LIMIT)?;
                passed += u32::from(outcome == Outcome::Passed);
            }
            Ok(passed)
        };
        let (on_tokio, on_wakeful) = (repeat(tokio)?, repeat(wakeful)?);
        counts.differences.push(Difference { target, test, on_tokio, on_wakeful });
    }
    counts.settle();
    Ok(counts)
}

/// Returns the counts of the first runs, and each test that passed on one runtime only.
fn first_runs(tokio: &Outcomes, wakeful: &Outcomes) -> (Counts, Vec<(String, String)>) {
    let mut counts = Counts::default();
    let mut differing = Vec::new();
    for (target, outcome) in &tokio.0 {
        let tests = match outcome {
            FileOutcome::Ran(tests) => tests,
            FileOutcome::DoesNotCompile(_) => {
                counts.uncompiled.push(target.clone());
                continue;
            }
        };
        for (test, on_tokio) in tests {
            let on_wakeful = wakeful.test(target, test);
            match (on_tokio == &Outcome::Passed, on_wakeful == Some(&Outcome::Passed)) {
                (true, true) => counts.both += 1,
                (false, false) if *on_tokio == Outcome::Ignored => {}
                (false, false) => counts.neither += 1,
                _ => differing.push((target.clone(), test.clone())),
            }
        }
    }
    (counts, differing)
}
