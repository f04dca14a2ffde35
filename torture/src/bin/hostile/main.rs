//! Runs random operations on every primitive of the runtime with wakers, values, closures and hooks
//! that panic at random.
//!
//! A scenario has a family (a primitive) and a seed. The seed decides everything else: the
//! probability of each kind of panic, the operations, the number of parties, and where they run (by
//! hand, on threads, or in a runtime of either kind). After each scenario the runtime must still
//! run tasks, its drop must return, no value may be dropped twice or leaked, and only hostile code
//! may have panicked.
//!
//! | file | content |
//! |---|---|
//! | `scenario.rs` | runs a scenario |
//! | `shared.rs`, `families/` | the trait of a primitive under test, and its implementations |
//! | `world.rs` | when hostile code panics; counts and findings |
//! | `wakers.rs`, `values.rs`, `runtimes.rs` | the hostile parts |
//! | `pool.rs`, `basket.rs` | futures and handles that a scenario keeps |

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
use wakeful_torture::crash::CrashReport;
use wakeful_torture::rng::Rng;
use wakeful_torture::watchdog::Watchdog;

const USAGE: &str = "\
usage: hostile [OPTIONS]

  --for TIME       run for TIME, such as 30s or 10m (default: 10s)
  --seed N         draw the seeds of the scenarios from N (default: 1)
  --only FAMILY    run only scenarios of this family; an unknown name lists all
  --scenario SEED  repeat the scenario with this seed; needs --only";

/// The time limit of a scenario. Most take milliseconds.
const LIMIT: Duration = Duration::from_secs(30);

fn main() -> ExitCode {
    let args = Args::from_env(USAGE, &["for", "seed", "only", "scenario"], &[]);
    let families: Vec<&Family> = match args.text("only") {
        None => FAMILIES.iter().collect(),
        Some(only) => FAMILIES.iter().filter(|(name, _)| *name == only).collect(),
    };
    let names: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
    if families.is_empty() || (args.has("scenario") && families.len() > 1) {
        eprintln!("`--only` needs one of these families: {}\n{USAGE}", names.join(", "));
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
            is_sound = is_sound && run_scenario(family, seed, &mut counts);
        }
    }
    println!("hostile: {:.1} s", start.elapsed().as_secs_f64());
    print!("{counts}");
    if is_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Runs a scenario. Returns whether nothing was found.
fn run_scenario((name, run): &Family, seed: u64, counts: &mut Counts) -> bool {
    let again = format!(
        "scenario of {name}; repeat with: cargo xtask hostile --only {name} --scenario {seed:#x}"
    );
    let crash_report = CrashReport::new(&again);
    let watchdog = Watchdog::start(LIMIT, &again);
    run(&mut Rng::new(seed));
    let leaked = scenario::leaked();
    drop(watchdog);
    drop(crash_report);
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

/// Panics of the runtime that are right around hostile code.
const EXPECTED: &[&str] = &[
    // The shutdown of a runtime calls a waker, and this waker polls a sleep of the runtime.
    "context was found, but it is being shutdown",
];

/// Hostile code panics without calling the hook, so each panic that calls it is a finding.
fn report_panics_of_others() {
    panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        if EXPECTED.iter().any(|expected| text.contains(expected)) {
            return;
        }
        let trace = std::backtrace::Backtrace::force_capture();
        world::finding(format!("a panic that hostile code did not raise: {text}\n{trace}"));
    }));
}
