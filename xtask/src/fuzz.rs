//! `cargo xtask fuzz`: random operations, which must have the same outcome on Wakeful and on Tokio.
//!
//! The fuzzer is a separate workspace, `fuzz/`, since it depends on the real Tokio, which the main
//! workspace replaces.

use crate::cargo::Cargo;
use crate::repo;

/// Runs the fuzzer, which parses the options itself.
pub fn run(options: &[&str]) -> Result<(), String> {
    let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
    Cargo::new(&repo::root().join("fuzz"), "run --quiet --release --").args(&options).run()
}

/// Checks the fuzzer itself, and fuzzes for some seconds from a fixed seed. The tests and the run
/// share one build.
pub fn ci() -> Result<(), String> {
    let fuzz = repo::root().join("fuzz");
    let steps = ["clippy --all-targets -- -D warnings", "test --quiet", "run --quiet"];
    steps.iter().try_for_each(|args| Cargo::new(&fuzz, args).run())
}
