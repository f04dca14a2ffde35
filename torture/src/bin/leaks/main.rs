//! Whether descriptors, threads and memory come back: after many runtimes, and after bursts of tasks and messages.
//!
//! Each measurement is a child process of its own, so that what one leaves in the memory allocator does not hide what the
//! next does. Memory is what is resident. Some of it stays with the C library's allocator, which a call (`malloc_trim`) has it
//! give back: what stays even then is the runtime's, or lies scattered.

mod bursts;
mod runtimes;

use std::process::{Command, ExitCode};
use wakeful_torture::args::Args;

const USAGE: &str = "\
usage: leaks [OPTIONS]

  --all         1000 runtimes of each kind, bursts of 2,000,000, and a look 10 s later; else a tenth, and 1 s
  --only NAME   one measurement; --list prints their names
  --list        print the names, and run nothing";

/// How much is measured.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Runtimes of each kind.
    pub runtimes: usize,
    /// Tasks or messages at once.
    pub burst: usize,
    /// When memory is looked at for the last time.
    pub patience_s: u64,
}

/// A measurement: prints what it finds; an error says what did not come back.
type Measure = fn(Size) -> Result<(), String>;

const MEASUREMENTS: &[(&str, Measure)] = &[
    ("current-thread runtimes", runtimes::current_thread),
    ("multi-thread runtimes", runtimes::multi_thread),
    ("tasks", bursts::tasks),
    ("tasks on a current-thread runtime", bursts::tasks_of_one_thread),
    ("timers", bursts::timers),
    ("oneshot channels", bursts::oneshot),
    ("unbounded mpsc messages", bursts::mpsc_unbounded),
    ("bounded mpsc messages", bursts::mpsc_bounded),
    ("broadcast messages", bursts::broadcast),
    ("boxes, for comparison", bursts::boxes),
];

fn main() -> ExitCode {
    let args = Args::from_env(USAGE, &["only", "child"], &["all", "list"]);
    let size = if args.has("all") {
        Size { runtimes: 1_000, burst: 2_000_000, patience_s: 10 }
    } else {
        Size { runtimes: 100, burst: 200_000, patience_s: 1 }
    };
    if let Some(name) = args.text("child") {
        let (_, measure) =
            MEASUREMENTS.iter().find(|(known, _)| *known == name).expect("the parent knows them");
        return match measure(size) {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                println!("FINDING: {why}");
                ExitCode::FAILURE
            }
        };
    }
    let (mut done, mut failed) = (0, 0);
    for (name, _) in MEASUREMENTS {
        if args.text("only").is_some_and(|only| !name.contains(only)) {
            continue;
        }
        println!("{name}");
        if args.has("list") {
            continue;
        }
        done += 1;
        if !run_child(name, args.has("all")) {
            failed += 1;
            println!("    again: cargo xtask leaks --only \"{name}\"");
        }
    }
    println!("leaks: {done} measurements, {failed} findings");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_child(name: &str, is_all: bool) -> bool {
    let program = std::env::current_exe().expect("a program has a path");
    let mut child = Command::new(program);
    child.args(["--child", name]);
    // By default glibc raises these thresholds whenever a large block is freed. `malloc_trim` leaves
    // the end of a thread's heap alone, so up to a raised threshold would stay resident.
    child.env("MALLOC_TRIM_THRESHOLD_", "131072").env("MALLOC_MMAP_THRESHOLD_", "131072");
    if is_all {
        child.arg("--all");
    }
    child.status().expect("a child process starts").success()
}
