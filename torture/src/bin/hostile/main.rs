//! Wakers, values, closures and hooks that panic at random, at every primitive of the runtime.
//!
//! A scenario is a family (a primitive), and a seed, from which all else follows: how likely which
//! hostile code is to panic, the operations, how many parties there are, and where they run: by
//! hand, on threads, in a runtime of either kind. After each the runtime must still run tasks, its
//! drop must return, nothing may be dropped twice or not at all, and no panic may have been raised
//! but by hostile code.

mod basket;
mod families;
mod pool;
mod runtimes;
mod scenario;
mod shared;
mod values;
mod wakers;
mod world;

use families::{FAMILIES, Family};
use std::panic;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use wakeful_torture::args::Args;
use wakeful_torture::counts::Counts;
use wakeful_torture::crash::Doing;
use wakeful_torture::rng::Rng;
use wakeful_torture::watchdog::Watchdog;

const USAGE: &str = "\
usage: hostile [OPTIONS]

  --for TIME       how long to go on, such as 10s or 10m (10s)
  --seed N         from which the seeds of the scenarios are drawn (1)
  --only FAMILY    just these scenarios
  --scenario SEED  one scenario, again and again; with --only";

/// For one scenario. Most take milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let args = Args::from_env(USAGE, &["for", "seed", "only", "scenario"], &[]);
    let families: Vec<&Family> = match args.text("only") {
        None => FAMILIES.iter().collect(),
        Some(only) => FAMILIES.iter().filter(|(name, _)| *name == only).collect(),
    };
    let names: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
    if families.is_empty() || (args.has("scenario") && families.len() > 1) {
        eprintln!("--only takes one of: {}\n{USAGE}", names.join(", "));
        return ExitCode::from(2);
    }
    report_panics_of_others();

    let mut seeds = Rng::new(args.number("seed").unwrap_or(1));
    let time = args.duration("for").unwrap_or(Duration::from_secs(10));
    let start = Instant::now();
    let mut counts = Counts::default();
    let mut is_sound = true;
    while is_sound && start.elapsed() < time {
        for family in &families {
            let seed = args.number("scenario").unwrap_or_else(|| seeds.next_u64());
            is_sound = is_sound && one(family, seed, &mut counts);
        }
    }
    println!("hostile: {:.1} s", start.elapsed().as_secs_f64());
    print!("{counts}");
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a scenario. Returns whether nothing was found.
fn one((name, run): &Family, seed: u64, counts: &mut Counts) -> bool {
    let again = format!("scenario of {name}; again with --only {name} --scenario {seed:#x}");
    let doing = Doing::new(&again);
    let watchdog = Watchdog::start(LIMIT, &again);
    run(&mut Rng::new(seed));
    let leaked = scenario::leaked();
    drop(watchdog);
    drop(doing);
    counts.add(name, "scenarios", 1);
    counts.add(name, "leaked by Rust", leaked);
    for (column, count) in world::take_counts() {
        counts.add(name, column, count);
    }
    let found = world::take_findings();
    if !found.is_empty() {
        eprintln!("in a {again}");
    }
    found.is_empty()
}

/// What may rightly panic around hostile code.
const EXPECTED: &[&str] = &[
    // A sleep that is polled by a waker that the end of its runtime calls.
    "context was found, but it is being shutdown",
];

/// Hostile code panics without calling the hook; whatever calls it has panicked on its own.
fn report_panics_of_others() {
    panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        if EXPECTED.iter().any(|expected| text.contains(expected)) {
            return;
        }
        let trace = std::backtrace::Backtrace::force_capture();
        world::finding(format!("a panic that hostile code has not raised: {text}\n{trace}"));
    }));
}
