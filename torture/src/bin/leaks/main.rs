//! Checks that descriptors, threads and memory are released: after many runtimes, and after bursts
//! of tasks and messages.
//!
//! Each measurement runs in its own child process, so that memory that one leaves in the allocator
//! does not hide a leak of the next. The memory measured is the resident memory. The C library's
//! allocator keeps some of it until `malloc_trim` is called; what stays after this call belongs to
//! the runtime, or is fragmented.

mod bursts;
mod runtimes;

use std::process::{Command, ExitCode};
use wakeful_torture::args::Args;

const USAGE: &str = "\
usage: leaks [OPTIONS]

  --all         1,000 runtimes of each kind, bursts of 2,000,000, memory measured up to 10 s later;
                by default a tenth of each, and 1 s
  --only TEXT   run the measurements whose name contains TEXT
  --list        print the names of the measurements";

/// The size of the measurements.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Runtimes of each kind.
    pub runtimes: usize,
    /// Tasks or messages at once.
    pub burst: usize,
    /// How many seconds after the burst the memory is measured for the last time.
    pub patience_s: u64,
}

/// A measurement. Prints its figures, and returns an error that says what was not released.
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
        let (_, measure) = MEASUREMENTS
            .iter()
            .find(|(known, _)| *known == name)
            .expect("`--child`: no such measurement");
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
            println!("    repeat: cargo xtask leaks --only \"{name}\"");
        }
    }
    println!("leaks: {done} measurements, {failed} findings");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_child(name: &str, is_all: bool) -> bool {
    let program = std::env::current_exe().expect("cannot find the path of this program");
    let mut child = Command::new(program);
    child.args(["--child", name]);
    // By default, glibc raises these thresholds when a large block is freed. `malloc_trim` keeps
    // the free end of a thread's heap up to the threshold, so this memory would stay resident.
    child.env("MALLOC_TRIM_THRESHOLD_", "131072").env("MALLOC_MMAP_THRESHOLD_", "131072");
    if is_all {
        child.arg("--all");
    }
    child.status().expect("cannot start a child process").success()
}
