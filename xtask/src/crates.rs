//! `cargo xtask crates`: runs the own tests of published crates on Tokio and on Wakeful.
//!
//! `xtask/crates/list.txt` names the crates. Each crate's published source is copied twice and built
//! once with Tokio and once with the drop-in, both times with the same versions of everything else.
//! A test that passes on Tokio must pass on Wakeful.
//!
//! ```text
//! list      reads the list of crates
//! source    copies the published source, and locks the versions
//! build     compiles the tests, and checks which runtime they are linked with
//! compare   compares the outcomes test by test, and repeats those that differ
//! results   the committed results, one entry for each crate
//! page      the tables in docs/crates.md, in both languages
//! ```
//!
//! Tests run in their own processes, as those of `cargo xtask conformance` do. Doc examples are not
//! run.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::cargo;
use crate::conformance::process;
use crate::repo;

mod build;
mod compare;
mod date;
mod list;
mod page;
mod results;
mod source;

use list::Entry;
use results::{Counts, Results};

/// The time limit of each test.
const LIMIT: Duration = Duration::from_secs(60);

/// The runtime that a crate is built with.
#[derive(Clone, Copy, PartialEq)]
enum Runtime {
    Tokio,
    Wakeful,
}

impl Runtime {
    fn name(self) -> &'static str {
        match self {
            Runtime::Tokio => "tokio",
            Runtime::Wakeful => "wakeful",
        }
    }
}

/// Runs the crates marked `quick`, as CI does.
pub fn ci() -> Result<(), String> {
    run(&["--quick"])
}

/// Runs the crates that `args` select. Fails if a test does worse on Wakeful than on Tokio.
pub fn run(args: &[&str]) -> Result<(), String> {
    let (mut quick, mut record, mut only) = (false, false, Vec::new());
    for arg in args {
        match *arg {
            "--quick" => quick = true,
            "--record" => record = true,
            name if !name.starts_with('-') => only.push(name),
            _ => return Err(format!("`cargo xtask crates`: unknown option `{arg}`")),
        }
    }
    let root = repo::root();
    let list = list::load(&root)?;
    if let Some(name) = only.iter().find(|name| list.iter().all(|entry| entry.name != **name)) {
        return Err(format!("`{name}` is not in {}", list::PATH));
    }
    let wanted = list.iter().filter(|entry| {
        (!quick || entry.is_quick) && (only.is_empty() || only.contains(&entry.name.as_str()))
    });
    let mut failures = Vec::new();
    for entry in wanted {
        match check(entry) {
            Ok(counts) => {
                counts.print(&entry.name);
                failures.extend(counts.failure(&entry.name));
                if record {
                    save(&root, &list, entry, counts)?;
                }
            }
            Err(why) => failures.push(format!("{}: {why}", entry.name)),
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Runs a crate's tests on both runtimes.
fn check(entry: &Entry) -> Result<Counts, String> {
    println!("==> {} {}", entry.name, entry.version);
    let tokio = source::copy(entry, Runtime::Tokio)?;
    let wakeful = source::copy(entry, Runtime::Wakeful)?;
    let mut both = Vec::new();
    for (dir, runtime) in [(&tokio, Runtime::Tokio), (&wakeful, Runtime::Wakeful)] {
        let built = build::tests(entry, dir, runtime)?;
        let skips = |target: &str, test: Option<&str>| entry.skips(target, test);
        let outcomes = process::run_all(dir, built.clone(), LIMIT, &skips)?;
        both.push(compare::Side { dir, built, outcomes });
    }
    compare::sides(entry, &both[0], &both[1])
}

/// Replaces the crate's entry in the committed results, and rewrites the pages.
fn save(root: &Path, list: &[Entry], entry: &Entry, counts: Counts) -> Result<(), String> {
    let mut results = Results::load(root)?;
    results.set(entry, date::of(SystemTime::now()), counts);
    results.retain(list);
    results.save(root)?;
    page::write(root, &results)
}

/// Returns the folder of copies and builds.
fn target_dir() -> PathBuf {
    cargo::target_dir(&repo::root()).join("crates")
}
