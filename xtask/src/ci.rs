//! `cargo xtask ci`: everything a change has to pass.

use std::time::{Duration, Instant};

use crate::cargo::Cargo;
use crate::{conformance, loom, repo, tidy};

type Step = (&'static str, fn() -> Result<(), String>);

/// Cheap steps first, so that a slip is reported within seconds.
const STEPS: &[Step] = &[
    ("tidy", tidy::run),
    ("fmt", || cargo("fmt --all --check").run()),
    ("clippy", || cargo("clippy --workspace --all-targets -- -D warnings").run()),
    ("test", || cargo("test --workspace").run()),
    ("conformance", conformance::run_all),
    ("doc", || cargo("doc --no-deps --workspace").env("RUSTDOCFLAGS", "-D warnings").run()),
    ("loom", || loom::run(None, None)),
];

/// Runs all steps; the first that fails ends the run.
pub fn run() -> Result<(), String> {
    let start = Instant::now();
    let mut times = Vec::new();
    for (position, (name, step)) in STEPS.iter().enumerate() {
        println!("==> {name} ({} of {})", position + 1, STEPS.len());
        let step_start = Instant::now();
        let outcome = step();
        let took = seconds(step_start.elapsed());
        outcome.map_err(|why| format!("ci stopped: step `{name}` failed after {took}\n{why}"))?;
        println!("    {name} passed in {took}\n");
        times.push(format!("{name} {took}"));
    }
    println!("ci passed in {}: {}", seconds(start.elapsed()), times.join(", "));
    Ok(())
}

fn cargo(args: &str) -> Cargo {
    Cargo::new(&repo::root(), args)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
