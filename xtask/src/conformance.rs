//! `cargo xtask conformance`: the tests that other crates publish, run on the drop-in.
//!
//! A suite is the `tests` folder of a crate as the registry has it, at a pinned version. What of it
//! passes on Tokio itself is committed (`--record` makes that list); all of it has to pass here.
//!
//! ```text
//! package   lays out a package with the suite's tests, and the drop-in in Tokio's place
//! build     compiles the test files, each for itself
//! process   runs one test in a process of its own, with a time limit
//! verdict   holds the outcomes against the list
//! ```

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::cargo;
use crate::repo;

mod build;
mod lists;
mod outcome;
pub mod package;
mod process;
pub mod suites;
mod verdict;

use lists::Tests;
use outcome::Outcomes;
use package::Backend;
use suites::{SUITES, Suite};

/// What the command line asks for.
struct Request {
    suites: Vec<&'static Suite>,
    /// Only these test files; all if none is named.
    only: Vec<String>,
    /// Where to write the outcome of every test.
    json: Option<PathBuf>,
    /// Run on Tokio itself and write the lists anew.
    record: bool,
    time_limit: Duration,
}

/// Runs every suite, as CI does.
pub fn run_all() -> Result<(), String> {
    run(&[])
}

/// Runs what `args` ask for; fails if a test does not do what the lists say.
pub fn run(args: &[&str]) -> Result<(), String> {
    let request = parse(args)?;
    let mut failures = unknown_files(&request)?;
    for suite in &request.suites {
        let outcome = if request.record { record(suite, &request) } else { check(suite, &request) };
        failures.extend(outcome.err());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

fn check(suite: &Suite, request: &Request) -> Result<(), String> {
    let mut expected = Tests::load(&list_path(suite, "tests"))?;
    if !request.only.is_empty() {
        expected.keep_files(&request.only);
    }
    let files: Vec<String> = expected.files().map(str::to_owned).collect();
    if files.is_empty() {
        return Ok(());
    }
    let outcomes = outcomes_of(suite, Backend::DropIn, files, request)?;
    let verdict = verdict::of(&expected, &outcomes);
    verdict.print(suite.krate);
    verdict.result(suite.krate)
}

/// A complaint for each file that is asked for and in no suite's list.
fn unknown_files(request: &Request) -> Result<Vec<String>, String> {
    let mut unknown = request.only.clone();
    for suite in request.suites.iter().filter(|_| !request.only.is_empty()) {
        let list = Tests::load(&list_path(suite, "tests"))?;
        unknown.retain(|asked| list.files().all(|file| file != asked));
    }
    Ok(unknown
        .iter()
        .map(|file| format!("unknown test file `{file}`: no list contains it"))
        .collect())
}

fn record(suite: &Suite, request: &Request) -> Result<(), String> {
    if !request.only.is_empty() {
        return Err(
            "--record rewrites the whole list and cannot be combined with --only".to_owned()
        );
    }
    let files = package::test_files(suite)?;
    let outcomes = outcomes_of(suite, Backend::Tokio, files, request)?;
    let passing = outcomes.passing();
    let path = list_path(suite, "tests");
    passing.save(
        &path,
        &format!("The tests of {} {} that pass on Tokio itself", suite.krate, suite.version),
    )?;
    package::save_lock(suite, &list_path(suite, "lock"))?;
    println!("{}: {} pass on Tokio, see {}", suite.krate, passing.count(), path.display());
    for (file, failing) in outcomes.failing() {
        println!("    not in the list: {file}: {failing}");
    }
    Ok(())
}

fn outcomes_of(
    suite: &Suite,
    backend: Backend,
    files: Vec<String>,
    request: &Request,
) -> Result<Outcomes, String> {
    let dir = package::lay_out(suite, backend, &list_path(suite, "lock"))?;
    println!("    {} {}: {} test files", suite.krate, suite.version, files.len());
    let built = build::test_files(&dir, &target_dir(), &files)?;
    let outcomes = process::run_all(&dir, built, request.time_limit)?;
    if let Some(path) = &request.json {
        fs::write(path, outcomes.to_json(suite.krate))
            .map_err(|e| format!("cannot write {}: {e}", path.display()))?;
    }
    Ok(outcomes)
}

fn parse(args: &[&str]) -> Result<Request, String> {
    let mut request = Request {
        suites: SUITES.iter().collect(),
        only: Vec::new(),
        json: None,
        record: false,
        time_limit: Duration::from_secs(60),
    };
    let mut args = args.iter().copied().peekable();
    while let Some(arg) = args.next() {
        let mut value = |of: &str| args.next().ok_or(format!("{arg} needs {of}"));
        match arg {
            "--record" => request.record = true,
            "--json" => request.json = Some(value("a file to write")?.into()),
            "--suite" => request.suites = vec![suites::named(value("the name of a suite")?)?],
            "--limit" => {
                let seconds = value("a number of seconds")?.parse();
                let seconds =
                    seconds.map_err(|e| format!("--limit needs a number of seconds: {e}"))?;
                request.time_limit = Duration::from_secs(seconds);
            }
            "--only" => {
                request.only.push(value("the name of a test file")?.to_owned());
                while let Some(file) = args.next_if(|arg| !arg.starts_with("--")) {
                    request.only.push(file.to_owned());
                }
            }
            _ => return Err(format!("`cargo xtask conformance`: unknown option `{arg}`")),
        }
    }
    if request.json.is_some() && request.suites.len() > 1 {
        return Err("--json works for one suite only: select it with --suite".to_owned());
    }
    Ok(request)
}

/// `xtask/conformance/SUITE.KIND`.
fn list_path(suite: &Suite, kind: &str) -> PathBuf {
    repo::root().join("xtask/conformance").join(format!("{}.{kind}", suite.krate))
}

/// All that this task builds, apart from the workspace's own: other profiles, other features.
fn target_dir() -> PathBuf {
    cargo::target_dir(&repo::root()).join("conformance")
}
