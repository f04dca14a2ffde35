//! `cargo xtask manycore`: Wakeful beside Tokio on a virtual machine with many cores.
//!
//! The machine and the cases are in `bench/manycore`. Both runtimes run there in virtual time, so
//! that the figures depend neither on this machine nor on its load.
//!
//! | file | role |
//! |---|---|
//! | `request.rs` | the options |
//! | `programs.rs` | builds the programs and runs them |
//! | `figures.rs` | what a run measures, medians and ratios |
//! | `table.rs` | the table on standard output |
//! | `check.rs` | finds cases that fall behind Tokio |
//! | `profile.rs` | finds the places in the code that wait for cache lines |
//! | `document.rs`, `picture.rs` | `bench/MANYCORE.md` and its picture |

use crate::cargo::Cargo;
use crate::repo;
use check::Shortfall;
use figures::Row;
use programs::Programs;
use request::{Request, Task};

mod check;
mod document;
mod figures;
mod picture;
mod profile;
mod programs;
mod request;
mod table;

/// Builds the programs, and measures, checks or profiles.
pub fn run(options: &[&str]) -> Result<(), String> {
    let request = Request::parse(options)?;
    let programs = Programs::build()?;
    if let Task::Profile(run) = &request.task {
        return profile::print(&programs, run, &request.constants);
    }
    if request.task == Task::Check {
        programs.self_test()?;
    }
    let cases = programs.cases(&request.cases)?;
    // Fails here, and not in each run, if a name or value is wrong.
    programs.constants(&request.constants)?;
    table::print_head();
    let mut rows = Vec::new();
    for case in &cases {
        for &workers in &request.workers {
            let row = Row::measure(&programs, case, workers, &request);
            table::print_row(&row);
            rows.push(row);
        }
    }
    match request.task {
        Task::Check => report(&check::shortfalls(&rows)),
        Task::Write => document::write(&programs, &request, &rows),
        _ => Ok(()),
    }
}

/// Checks the code of `bench/manycore`, and that no case falls behind Tokio with few, some and many
/// workers.
pub fn ci() -> Result<(), String> {
    if !programs::IS_SUPPORTED {
        println!("    skipped: the virtual machine runs on x86-64 Linux only");
        return Ok(());
    }
    let dir = repo::root().join("bench/manycore");
    Cargo::new(&dir, "clippy --all-targets -- -D warnings").run()?;
    run(&["--check", "--workers", "2,8,32"])
}

fn report(shortfalls: &[Shortfall]) -> Result<(), String> {
    if shortfalls.is_empty() {
        println!("no case falls behind Tokio");
        return Ok(());
    }
    let lines: Vec<String> = shortfalls.iter().map(|shortfall| format!("  {shortfall}")).collect();
    Err(format!("{} figures fall behind Tokio:\n{}", lines.len(), lines.join("\n")))
}
