//! `cargo xtask fuzz`: random operations on Wakeful and on Tokio, which must have the same outcome.
//!
//! The fuzzer is a workspace of its own, `fuzz/`, since it depends on the real Tokio, which the main workspace replaces.

use crate::cargo::Cargo;
use crate::repo;

/// Runs the fuzzer, which reads the options.
pub fn run(options: &[&str]) -> Result<(), String> {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    Cargo::new(&repo::root().join("fuzz"), "run --quiet --release --").args(&options).run()
}

/// Checks the fuzzer itself, and fuzzes from a fixed seed for some seconds; one build serves the tests and the run.
pub fn ci() -> Result<(), String> {
    let fuzz = repo::root().join("fuzz");
    let steps = ["clippy --all-targets -- -D warnings", "test --quiet", "run --quiet"];
    steps.iter().try_for_each(|args| Cargo::new(&fuzz, args).run())
}
