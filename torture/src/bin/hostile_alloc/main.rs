//! Runs tasks under an allocator that calls the runtime: on every N-th allocation it notifies,
//! spawns, sends, aborts or wakes, even if the runtime itself is allocating. All tasks must end.

mod allocator;
mod calls;
mod load;

use std::panic;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};
use wakeful::runtime::{Builder, Runtime};
use wakeful_torture::args::Args;
use wakeful_torture::counts::Counts;
use wakeful_torture::crash::CrashReport;
use wakeful_torture::rng::Rng;
use wakeful_torture::watchdog::Watchdog;

const USAGE: &str = "\
usage: hostile_alloc [OPTIONS]

  --for TIME      run for TIME, such as 10s or 10m (default: 5s)
  --seed N        draw the seeds of the rounds from N (default: 1)
  --round SEED    repeat the round with this seed; add the printed --workers
  --workers N     use N workers, 0 for a current-thread runtime (default: varies)";

/// The time limit of a round, including the drop of its runtime. A round takes milliseconds.
const LIMIT: Duration = Duration::from_secs(20);

const WORKERS: &[u64] = &[0, 1, 2, 4];

/// The panic of a task that polls a sleep while its runtime shuts down, which is right.
const EXPECTED: &str = "context was found, but it is being shutdown";

fn main() -> ExitCode {
    let args = Args::from_env(USAGE, &["for", "seed", "round", "workers"], &[]);
    static PANICKED: AtomicBool = AtomicBool::new(false);
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if panic.to_string().contains(EXPECTED) {
            return;
        }
        PANICKED.store(true, SeqCst);
        eprintln!("FINDING: a panic:");
        report(panic);
    }));

    let mut seeds = Rng::new(args.number("seed").unwrap_or(1));
    let time = args.duration("for").unwrap_or(Duration::from_secs(5));
    let start = Instant::now();
    let mut counts = Counts::default();
    let mut found = false;
    while !found && start.elapsed() < time {
        let seed = args.number("round").unwrap_or_else(|| seeds.next_u64());
        let mut rng = Rng::new(seed);
        let workers = args.number("workers").unwrap_or(WORKERS[rng.below(WORKERS.len())]);
        let command =
            format!("cargo xtask hostile --only allocator --round {seed:#x} --workers {workers}");
        let again = format!("round with {workers} workers; repeat with: {command}");
        let crash_report = CrashReport::new(&again);
        let watchdog = Watchdog::start(LIMIT, &again);
        let outcome = run_rounds(workers, &mut rng);
        drop(watchdog);
        drop(crash_report);
        let row = format!("{workers} workers");
        counts.add(&row, "rounds", 1);
        match outcome {
            Ok(tasks) => counts.add(&row, "tasks", tasks as u64),
            Err(why) => {
                eprintln!("FINDING: {why}");
                found = true;
            }
        }
        found |= PANICKED.load(SeqCst);
        if found {
            eprintln!("in a {again}");
        }
    }
    println!("hostile_alloc: {:.1} s", start.elapsed().as_secs_f64());
    print!("{counts}");
    let calls: Vec<String> = calls::done().map(|(name, count)| format!("{count} {name}")).collect();
    println!("  calls by the allocator: {}", calls.join(", "));
    if found { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn run_rounds(workers: u64, rng: &mut Rng) -> Result<usize, String> {
    let runtime = build(workers, rng);
    Ok(load::round(&runtime, rng)? + load::abandoned_round(runtime, rng)?)
}

fn build(workers: u64, rng: &mut Rng) -> Runtime {
    let mut builder = match workers {
        0 => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    if workers > 0 {
        builder.worker_threads(workers as usize);
    }
    if rng.chance(200) {
        builder.disable_stall_handoff();
    }
    builder.enable_all().build().expect("cannot build a runtime")
}
