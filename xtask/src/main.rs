//! Development tasks of the Wakeful workspace, run as `cargo xtask <task>`.
//!
//! No dependencies on purpose: a fresh clone has the tidy checks running a few seconds after the
//! compiler starts, and a check can never break because of somebody else's release.

mod cargo;
mod ci;
mod conformance;
mod json;
mod loom;
mod manifest;
mod repo;
mod rust;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <task>

  conformance [OPTIONS]   the tests that Tokio publishes, on the drop-in
  ci                      everything a change has to pass, in the order of what fails fastest
  loom [CRATE] [FILTER]   model-check one crate, or every crate that has loom models
  tidy                    layers, module cycles, unsafe comments, leftovers, dead files, sizes

conformance: --only FILE…    just these test files
             --suite NAME    just this suite; see xtask/src/conformance/suites.rs
             --json FILE     write there how every test ended
             --limit SECONDS for one test, 60 if not said
             --record        run on Tokio itself and write the lists anew
loom: CRATE may leave out the `wakeful-` prefix; LOOM_* variables in the environment are kept.";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args[..] {
        ["ci"] => ci::run(),
        ["conformance", ref options @ ..] => conformance::run(options),
        ["loom"] => loom::run(None, None),
        ["loom", krate] => loom::run(Some(krate), None),
        ["loom", krate, filter] => loom::run(Some(krate), Some(filter)),
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
