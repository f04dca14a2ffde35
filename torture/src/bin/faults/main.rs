//! Runs a workload while something fails: system calls, limits, closed descriptors, storms of
//! signals, forks, a clock that jumps.
//!
//! Each case is a child process of this program (`child.rs`), in which one fault (`fault.rs`)
//! occurs while a runtime runs a workload (`workload.rs`). The parent (`parent.rs`) collects the
//! child's reports (`report.rs`), and `verdict.rs` compares them with the expected outcome in the
//! table of cases (`cases.rs`). A test compares this table with the guide's page (`page.rs`).

mod cases;
mod child;
mod clock;
mod fault;
mod fork;
#[cfg(test)]
mod page;
mod parent;
mod report;
mod seccomp;
mod storms;
mod verdict;
mod workload;

use cases::Case;
use parent::{End, Run};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;
use wakeful_torture::args::Args;
use workload::Outcome;

const USAGE: &str = "\
usage: faults [OPTIONS]

  --all        run all cases; by default some of each kind, in less than a minute
  --only TEXT  run the cases whose name contains TEXT
  --list       print the names of the cases
  --show       print every operation that failed, expected or not
  --jobs N     run N cases at a time (default: 4)";

fn main() -> ExitCode {
    let args = Args::from_env(USAGE, &["only", "jobs", "child"], &["all", "list", "show"]);
    let mut cases = cases::all();
    if let Some(name) = args.text("child") {
        let case = cases.iter().find(|case| case.name == name).expect("`--child`: no such case");
        return match child::run(case) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("cannot run the case: {error}");
                ExitCode::from(3)
            }
        };
    }
    match args.text("only") {
        Some(text) => cases.retain(|case| case.name.contains(text)),
        None if args.has("all") || args.has("list") => {}
        None => cases.retain(|case| case.quick),
    }
    if args.has("list") {
        cases.iter().for_each(|case| println!("{}", case.name));
        return ExitCode::SUCCESS;
    }
    // SAFETY: takes nothing and returns a number.
    if unsafe { libc::geteuid() } != 0 {
        let before = cases.len();
        cases.retain(|case| !case.fault.needs_root());
        println!("cases skipped, because they need root: {}", before - cases.len());
    }
    let jobs = args.number("jobs").unwrap_or(4).max(1);
    run_all(&cases, jobs as usize, args.has("show"))
}

fn run_all(cases: &[Case], jobs: usize, shows: bool) -> ExitCode {
    let begun = Instant::now();
    let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let printing = Mutex::new(());
    thread::scope(|scope| {
        for _ in 0..jobs.min(cases.len()) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Relaxed)) {
                    let run = parent::run(case).expect("cannot run the child process");
                    let findings = verdict::findings(case, &run);
                    let _one_at_a_time = printing.lock().expect("no thread panics while printing");
                    print(case, &run, shows);
                    if !findings.is_empty() {
                        failed.fetch_add(1, Relaxed);
                    }
                    if !findings.is_empty() && !shows {
                        println!("FINDING: {}, expected {:?}", case.name, case.expected);
                        findings.iter().for_each(|finding| println!("    {finding}"));
                        println!("    repeat: cargo xtask faults --only {}", case.name);
                    }
                }
            });
        }
    });
    let (failed, took) = (failed.into_inner(), begun.elapsed().as_secs_f64());
    println!("faults: {} cases, {failed} findings, in {took:.1} s", cases.len());
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn print(case: &Case, run: &Run, shows: bool) {
    if shows {
        let failed = run.outcomes.iter().filter(|(_, _, outcome)| *outcome != Outcome::Works);
        println!("{}: {:?}, {} hand-offs", case.name, run.end, run.hand_offs);
        for (phase, name, outcome) in failed {
            println!("    {} {name}: {outcome:?}", verdict::name_of(*phase));
        }
        if run.end != End::Done {
            println!("    last: {}; stderr: {}", run.last, verdict::tail(&run.stderr));
        }
    }
    if run.stops > 0 {
        println!("{}: stopped {} times, {} hand-offs", case.name, run.stops, run.hand_offs);
    }
}
