//! `cargo xtask ci`: all checks that a change must pass.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cargo::Cargo;
use crate::servers::Servers;
use crate::{
    api_diff, book, conformance, console_page, crates, demo_page, dumps, examples, faults,
    features, figures, fuzz, hostile, loom, manycore, package, repo, soak, tidy,
};

type Step = (&'static str, fn() -> Result<(), String>);

/// Returns the steps, the cheap ones first, so that simple mistakes are reported within seconds.
fn steps(with_servers: bool) -> Vec<Step> {
    let mut steps: Vec<Step> = vec![
        ("tidy", tidy::run),
        ("figures", figures::ci),
        ("book", book::run),
        ("fmt", fmt),
        ("clippy", || {
            cargo("clippy --workspace --all-targets --features ecosystem/servers -- -D warnings")
                .run()
        }),
        ("features", features::run),
        ("api-diff", api_diff::run_all),
        ("examples", examples::run),
        ("test", if with_servers { test_with_servers } else { || cargo("test --workspace").run() }),
        ("examples-on-tokio", examples_on_tokio),
        ("raft", raft),
        ("ecosystem-large", ecosystem_large),
        ("console-bridge", console_bridge),
        ("crates", crates::ci),
        ("faults", || faults::run(&[])),
        ("leaks", || faults::run_leaks(&[])),
        ("hostile", || hostile::run(&[])),
        ("soak", || soak::run(&[])),
        ("dumps", || dumps::run(&[])),
        ("demo-page", || demo_page::run(false)),
        ("console-page", || console_page::run(false)),
        ("conformance", conformance::run_all),
        ("fuzz", fuzz::ci),
        ("bench", bench),
        ("manycore", manycore::ci),
        ("doc", || cargo("doc --no-deps --workspace").env("RUSTDOCFLAGS", "-D warnings").run()),
        ("package", package::run),
        ("loom", || loom::run(None, None)),
    ];
    // The tests of pages need Chromium, which is installed together with the servers.
    steps.retain(|(name, _)| with_servers || !name.ends_with("-page"));
    steps
}

/// Runs all steps, and stops at the first failure.
pub fn run(with_servers: bool) -> Result<(), String> {
    let start = Instant::now();
    let mut times = Vec::new();
    let steps = steps(with_servers);
    for (position, (name, step)) in steps.iter().enumerate() {
        println!("==> {name} ({} of {})", position + 1, steps.len());
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

/// Runs all tests at once: running those that need servers separately would rebuild many crates.
fn test_with_servers() -> Result<(), String> {
    let servers = Servers::start()?;
    servers.with_addresses(cargo("test --workspace --features ecosystem/servers")).run()
}

/// Checks the format of all workspaces.
fn fmt() -> Result<(), String> {
    let root = repo::root();
    let others = [
        "bench",
        "bench/manycore",
        "ecosystem/data",
        "ecosystem/large",
        "examples/raft",
        "fuzz",
        "tools/console-bridge",
    ]
    .map(|dir| root.join(dir));
    let workspaces: Vec<PathBuf> = [root].into_iter().chain(others).collect();
    workspaces.iter().try_for_each(|dir| Cargo::new(dir, "fmt --all --check").run())
}

/// Checks the benchmarks, which are a separate workspace, and runs them once on Wakeful. The
/// measured numbers are discarded.
fn bench() -> Result<(), String> {
    let bench = repo::root().join("bench");
    let steps = [
        "clippy --all-targets -- -D warnings",
        "test",
        "run -- all --quick --only wakeful-mt,wakeful-ct",
    ];
    steps.iter().try_for_each(|args| Cargo::new(&bench, args).run())
}

/// Tests the programs in `examples` on Tokio. Step `test` runs the same tests on Wakeful.
fn examples_on_tokio() -> Result<(), String> {
    Cargo::new(&repo::root().join("examples/on-tokio"), "test --locked").run()
}

/// Tests `examples/raft`, a workspace whose dependencies have only the features that it asks for.
fn raft() -> Result<(), String> {
    Cargo::new(&repo::root().join("examples/raft"), "test --locked").run()
}

/// Tests `ecosystem/large`, a workspace that is built with `--cfg tokio_unstable`.
fn ecosystem_large() -> Result<(), String> {
    Cargo::new(&repo::root().join("ecosystem/large"), "test --locked").run()
}

/// Tests `tools/console-bridge`, a workspace that no other package depends on.
fn console_bridge() -> Result<(), String> {
    Cargo::new(&repo::root().join("tools/console-bridge"), "test --locked").run()
}

fn cargo(args: &str) -> Cargo {
    Cargo::new(&repo::root(), args)
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
