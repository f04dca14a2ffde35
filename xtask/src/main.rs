//! Development tasks of the Wakeful workspace, run as `cargo xtask <task>`.
//!
//! No dependencies on purpose: a fresh clone has the tidy checks running a few seconds after the
//! compiler starts, and a check can never break because of somebody else's release.

mod api_diff;
mod cargo;
mod ci;
mod conformance;
mod demo_page;
mod examples;
mod faults;
mod features;
mod fuzz;
mod hello;
mod hostile;
mod json;
mod loom;
mod manifest;
mod options;
mod probe;
mod repo;
mod rust;
mod servers;
mod soak;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  api-diff                what Tokio's public API has and the drop-in has not, or otherwise
  conformance [OPTIONS]   the tests that Tokio publishes, on the drop-in
  ci                      everything a change has to pass, in the order of what fails fastest
  demo-page               the demo's page in Chromium; --pictures takes those in demo/ anew instead
  examples                what is public and has no example that runs
  faults [OPTIONS]        system calls that fail, limits, closed descriptors: what becomes of a runtime
  features                the drop-in with each of Tokio's features and the usual sets of them
  fuzz [OPTIONS]          the same random operations on Wakeful and on Tokio, with the same outcome
  hello                   what a small program costs to build on Tokio and on the drop-in
  hostile [OPTIONS]       wakers, values and hooks that panic, an allocator that calls the runtime; under
                          AddressSanitizer where there is a nightly toolchain
  leaks [OPTIONS]         whether descriptors, threads and memory come back
  loom [CRATE] [FILTER]   model-check one crate, or every crate that has loom models
  servers                 the tests that talk to PostgreSQL, Redis and NATS, which it starts and stops
  soak [OPTIONS]          everything at once for a while, with sums that must agree
  tidy                    layers, module cycles, unsafe comments, leftovers, dead files, sizes, words

api-diff:    --features A,B  with these features of Tokio's, full and test-util if not said
             --hidden        also what is hidden from the documentation
             --extra         also what is here and not there
ci: --without-servers leaves out the tests of task `servers`, and `demo-page`
conformance: --only FILE…    just these test files
             --suite NAME    just this suite; see xtask/src/conformance/suites.rs
             --json FILE     write there how every test of that suite ended
             --limit SECONDS for one test, 60 if not said
             --record        run on Tokio itself and write the lists anew
faults, leaks: --all instead of some in less than a minute, --only NAME, --list; `--help` says more
hostile:     --for TIME      such as 30s or 10m, of all its programs together
             --seed N        other scenarios
             --only FAMILY   just these; `allocator` is the one that has a program of its own
soak:        --for TIME, --seed N, --workers N
fuzz:        FAMILY…         just these families of types; an unknown name lists them
             --rounds N      scripts of each family; some seconds' worth if not said
             --for 10m       go on for that long instead
             --seed S        of the first script, 1 if not said; each further one has the next
             --ops N         operations of a script at most
             --verbose       name each script before it runs, to see which one ends the process
loom: CRATE may leave out the `wakeful-` prefix; LOOM_* variables in the environment are kept.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        ["api-diff", ref options @ ..] => api_diff::run(options),
        ["ci"] => ci::run(true),
        ["ci", "--without-servers"] => ci::run(false),
        ["conformance", ref options @ ..] => conformance::run(options),
        ["demo-page"] => demo_page::run(false),
        ["demo-page", "--pictures"] => demo_page::run(true),
        ["examples"] => examples::run(),
        ["faults", ref options @ ..] => faults::run(options),
        ["features"] => features::run(),
        ["fuzz", ref options @ ..] => fuzz::run(options),
        ["hello"] => hello::run(),
        ["hostile", ref options @ ..] => hostile::run(options),
        ["leaks", ref options @ ..] => faults::run_leaks(options),
        ["loom"] => loom::run(None, None),
        ["loom", krate] => loom::run(Some(krate), None),
        ["loom", krate, filter] => loom::run(Some(krate), Some(filter)),
        ["servers"] => servers::run(),
        ["soak", ref options @ ..] => soak::run(options),
        ["tidy"] => tidy::run(),
        ["help" | "--help" | "-h"] => {
            println!("{USAGE}");
            Ok(())
        }
        [] => Err(format!("no task given\n\n{USAGE}")),
        _ => Err(format!("`cargo xtask {}` is not a task\n\n{USAGE}", args.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("xtask: {why}");
            ExitCode::FAILURE
        }
    }
}
