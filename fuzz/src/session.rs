//! Runs scripts until the options' limit, and prints the results.

use std::fmt;
use std::process::{ExitCode, exit};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use wakeful_fuzz::compare::Comparer;
use wakeful_fuzz::families::AnyFamily;

use crate::options::{Options, Until};

/// How many scripts of a family run before the next family's turn.
const SLICE: u64 = 50;
/// When a script counts as stuck. A script takes well under a millisecond.
const STUCK_AFTER: Duration = Duration::from_secs(30);

/// The script that is running, for the thread that detects stuck scripts.
static RUNNING: Mutex<Option<(Instant, Repeat)>> = Mutex::new(None);

/// A script's family and seed, printed as the command that repeats it.
#[derive(Clone, Copy)]
struct Repeat {
    family: &'static str,
    seed: u64,
    ops_max: usize,
}

impl fmt::Display for Repeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Repeat { family, seed, ops_max } = self;
        write!(f, "cargo xtask fuzz {family} --rounds 1 --seed {seed} --ops {ops_max}")
    }
}

/// The progress of a family.
struct Progress {
    family: &'static AnyFamily,
    scripts: u64,
    ops: u64,
    took: Duration,
    /// Whether a difference was found. It ends the family's run.
    differs: bool,
}

/// Runs scripts as the options say. Fails if there was a difference.
pub fn run(options: &Options) -> ExitCode {
    thread::spawn(watch);
    let start = Instant::now();
    let mut comparer = Comparer::default();
    let mut all: Vec<Progress> =
        options.families.iter().map(|family| Progress::new(family)).collect();
    while !is_over(options, start, &all) {
        for progress in all.iter_mut().filter(|progress| !progress.differs) {
            progress.run_slice(options, &mut comparer);
        }
    }
    summarize(&all, start);
    if all.iter().any(|progress| progress.differs) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn is_over(options: &Options, start: Instant, all: &[Progress]) -> bool {
    let is_enough = |progress: &Progress| match options.until {
        Until::Rounds(rounds) => progress.scripts >= rounds,
        Until::Over(time) => start.elapsed() >= time,
    };
    all.iter().all(|progress| progress.differs || is_enough(progress))
}

impl Progress {
    fn new(family: &'static AnyFamily) -> Progress {
        Progress { family, scripts: 0, ops: 0, took: Duration::ZERO, differs: false }
    }

    fn run_slice(&mut self, options: &Options, comparer: &mut Comparer) {
        let rounds = match options.until {
            Until::Rounds(rounds) => rounds - self.scripts.min(rounds),
            Until::Over(_) => SLICE,
        };
        let start = Instant::now();
        for _ in 0..rounds.min(SLICE) {
            let seed = options.seed.wrapping_add(self.scripts);
            let repeat = Repeat { family: self.family.name, seed, ops_max: options.ops_max };
            if options.is_verbose {
                println!("{repeat}");
            }
            *RUNNING.lock().expect("no holder panics") = Some((Instant::now(), repeat));
            self.scripts += 1;
            match (self.family.fuzz)(comparer, seed, options.ops_max) {
                Ok(ops) => self.ops += ops as u64,
                Err(report) => {
                    println!(
                        "{}: Wakeful and Tokio differ; repeat with `{repeat}`\n\n{report}",
                        self.family.name
                    );
                    self.differs = true;
                    break;
                }
            }
        }
        *RUNNING.lock().expect("no holder panics") = None;
        self.took += start.elapsed();
    }
}

/// Ends the process if a script is stuck.
fn watch() {
    loop {
        thread::sleep(Duration::from_secs(1));
        let running = *RUNNING.lock().expect("no holder panics");
        if let Some((since, repeat)) = running.filter(|(since, _)| since.elapsed() > STUCK_AFTER) {
            println!(
                "a script has not finished after {:?}; repeat with `{repeat}`",
                since.elapsed()
            );
            exit(1);
        }
    }
}

fn summarize(all: &[Progress], start: Instant) {
    println!("{:<14} {:>10} {:>12} {:>10}", "family", "scripts", "operations", "scripts/s");
    for Progress { family, scripts, ops, took, differs } in all {
        let rate = *scripts as f64 / took.as_secs_f64().max(1e-9);
        let end = if *differs { "  DIFFERS" } else { "" };
        println!("{:<14} {scripts:>10} {ops:>12} {rate:>10.0}{end}", family.name);
    }
    let (scripts, differ) =
        (all.iter().map(|p| p.scripts).sum::<u64>(), all.iter().filter(|p| p.differs).count());
    let took = start.elapsed().as_secs_f64();
    println!("{scripts} scripts in {took:.1} s, {differ} families differ");
}
