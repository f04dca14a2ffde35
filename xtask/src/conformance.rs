//! `cargo xtask conformance`: runs the tests that other crates publish on the drop-in.
//!
//! A suite is the `tests` folder of a crate from the registry, at a pinned version. The list of
//! tests that pass on Tokio itself is committed (`--record` writes it), and all of them must pass
//! on the drop-in.
//!
//! ```text
//! package   generates a package with the suite's tests, with the drop-in in place of Tokio
//! build     compiles the test files
//! process   runs each test in its own process, with a time limit
//! verdict   compares the outcomes with the list
//! ```

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::cargo;
use crate::repo;

pub mod build;
pub mod lists;
pub mod outcome;
pub mod package;
pub mod process;
pub mod suites;
mod verdict;

use lists::Tests;
use outcome::Outcomes;
use package::Backend;
use suites::{SUITES, Suite};

/// The parsed command line.
struct Request {
    suites: Vec<&'static Suite>,
    /// The test files to run; all if empty.
    only: Vec<String>,
    /// The file to write the outcome of every test to.
    json: Option<PathBuf>,
    /// Whether to run on Tokio itself and rewrite the lists.
    record: bool,
    time_limit: Duration,
}

/// Runs every suite, as CI does.
pub fn run_all() -> Result<(), String> {
    run(&[])
}

/// Runs the suites that `args` select. Fails if a listed test does not pass.
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
    let verdict = verdict::of(&expected, &outcomes, suite.failing);
    verdict.print(suite.name);
    verdict.result(suite.name)
}

/// Returns an error message for each requested file that is in no suite's list.
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
        &format!("The tests of {} {} that pass on Tokio itself", suite.name, suite.version),
    )?;
    package::save_lock(suite, &list_path(suite, "lock"))?;
    println!("{}: {} pass on Tokio, see {}", suite.name, passing.count(), path.display());
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
    println!("    {} {}: {} test files", suite.name, suite.version, files.len());
    let built = build::test_files(&dir, &target_dir(), &files, suite.rustflags)?;
    let skips = |file: &str, test: Option<&str>| suite.leaves_out(file, test);
    let outcomes = process::run_all(&dir, built, request.time_limit, &skips)?;
    if let Some(path) = &request.json {
        fs::write(path, outcomes.to_json(suite.name))
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

/// Returns the path `xtask/conformance/SUITE.KIND`.
fn list_path(suite: &Suite, kind: &str) -> PathBuf {
    repo::root().join("xtask/conformance").join(format!("{}.{kind}", suite.name))
}

/// Returns the target folder of this task. It is separate from the workspace's, since profiles and
/// features differ.
fn target_dir() -> PathBuf {
    cargo::target_dir(&repo::root()).join("conformance")
}
