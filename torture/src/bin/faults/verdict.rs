//! Compares the outcome of a case with the expected one.

use crate::cases::{Case, Expected, When};
use crate::fault::Fault;
use crate::parent::{End, Run};
use crate::report::Phase;
use crate::seccomp::Action;
use crate::workload::Outcome;

/// The operations that need the driver's descriptors.
const USE_IO: [&str; 7] = ["tcp", "udp", "unix", "pipe", "signal", "process", "background"];

/// What these operations report without a driver, and what `Builder::build` reports.
const NO_IO: &str = "the I/O driver of the runtime that this I/O resource belongs to has failed";
const NO_DRIVER: &str = "cannot make the I/O driver";

/// Returns a line for each difference from the expected outcome.
pub fn findings(case: &Case, run: &Run) -> Vec<String> {
    let mut findings = Vec::new();
    for (phase, name, outcome) in &run.outcomes {
        let is_expected = match phase {
            Phase::Before => *outcome == Outcome::Works,
            // A runtime that could not start its monitor has no hand-off from then on.
            Phase::After if case.when == When::Start && name.starts_with("hand-off") => {
                is_expected(case, name, outcome)
            }
            Phase::After => *outcome == Outcome::Works,
            Phase::During => is_expected(case, name, outcome),
        };
        if !is_expected || is_wrong(outcome) {
            findings.push(format!("{} {name}: {outcome:?}", name_of(*phase)));
        }
    }
    if !is_right_end(case, run) {
        findings.push(format!("{:?} in `{}`; stderr: {}", run.end, run.last, tail(&run.stderr)));
    }
    findings
}

/// Whether an operation had a wrong result. No fault excuses that.
fn is_wrong(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Error(why) | Outcome::Panic(why) if why.contains("WRONG"))
}

fn is_expected(case: &Case, name: &str, outcome: &Outcome) -> bool {
    let says = |text: &str| match outcome {
        Outcome::Works => false,
        Outcome::Error(why) | Outcome::Panic(why) => why.contains(&with_errno(case, text)),
    };
    match case.expected {
        Expected::Works => *outcome == Outcome::Works,
        Expected::Without(failing) => match failing.iter().find(|(failing, _)| *failing == name) {
            Some((_, text)) => says(text),
            None => *outcome == Outcome::Works,
        },
        Expected::NoRuntime(text) => says(text),
        Expected::IoEnds(_) => {
            *outcome == Outcome::Works
                || (USE_IO.contains(&name) && says(NO_IO))
                || (name == "new runtime" && says(NO_DRIVER))
        }
        Expected::MayFail(texts) | Expected::Ends(texts) => {
            *outcome == Outcome::Works || texts.iter().any(|text| says(text))
        }
    }
}

fn is_right_end(case: &Case, run: &Run) -> bool {
    const ABORTED: End = End::Signal(libc::SIGABRT);
    const PANICKED: End = End::Code(101);
    let ends_with = |texts: &[&str]| {
        (run.end == ABORTED || run.end == PANICKED)
            && texts.iter().any(|text| run.stderr.contains(text))
    };
    match case.expected {
        Expected::IoEnds(text) => {
            run.end == End::Done && run.stderr.contains(&with_errno(case, text))
        }
        Expected::MayFail(texts) => run.end == End::Done || ends_with(texts),
        Expected::Ends(texts) => {
            let has_failed = run.outcomes.iter().any(|(_, _, outcome)| *outcome != Outcome::Works);
            (run.end == End::Done && has_failed) || ends_with(texts)
        }
        _ => run.end == End::Done,
    }
}

fn with_errno(case: &Case, text: &str) -> String {
    let Fault::Calls(rules) = &case.fault else { return text.to_owned() };
    match rules.first().map(|rule| rule.action) {
        Some(Action::Fail(errno)) => {
            let error = std::io::Error::from_raw_os_error(errno).to_string();
            let call = case.name.split('.').next().unwrap_or_default();
            text.replace("{errno}", &error).replace("{call}", call)
        }
        _ => text.to_owned(),
    }
}

pub fn name_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Before => "before the fault:",
        Phase::During => "under the fault:",
        Phase::After => "when the fault is over:",
    }
}

/// Returns the last lines of a text.
pub fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join(" | ")
}
