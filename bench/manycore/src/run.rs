//! Runs one case and prints its figures. `cargo xtask manycore` calls it for each case, runtime and
//! number of workers.
//!
//! | arguments | output |
//! |---|---|
//! | `list` | name, third figure and description of each case |
//! | `constants [NAME=VALUE …]` | name, value and meaning of each constant of the machine |
//! | `run CASE WORKERS ROUNDS [NAME=VALUE …]` | a line for each round; see [`figures`] |
//! | `profile CASE WORKERS [NAME=VALUE …]` | the places that wait longest for cache lines |

use std::process::exit;
use std::time::Instant;

use crate::cases::{CASES, Case, Outcome};

/// The number of places in a profile.
const PLACES: i32 = 60;

pub fn main() {
    machine::fix_addresses();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["list"] => {
            for Case { name, third, about, .. } in CASES {
                println!("{name}\t{third}\t{about}");
            }
        }
        ["constants", ref constants @ ..] => {
            set_constants(constants);
            machine::print_constants();
        }
        ["run", case, workers, rounds, ref constants @ ..] => {
            let lines = run(find(case), number(workers), number(rounds), constants);
            for line in lines {
                println!("{line}");
            }
        }
        ["profile", case, workers, ref constants @ ..] => {
            run(find(case), number(workers), 1, constants);
            machine::print_profile(PLACES);
        }
        _ => fail("unknown arguments; `cargo xtask manycore` calls this program"),
    }
    // Other threads still exist, and what they would run at exit is of no use.
    exit(0);
}

/// Runs a round to warm up, and then `rounds` more. Returns the figures of each.
fn run(case: &Case, workers: u64, rounds: u64, constants: &[&str]) -> Vec<String> {
    machine::set("visible-cpus", workers as f64);
    set_constants(constants);
    machine::begin();
    let builder = rt::runtime::Builder::new_multi_thread()
        .worker_threads(workers as usize)
        .enable_all()
        .build();
    let runtime = builder.expect("the runtime can be built");
    let mut lines = Vec::new();
    for round in 0..=rounds {
        machine::reset();
        let (start, cpu_before) = (Instant::now(), machine::cpu_time());
        let task = (case.run)(workers);
        let outcome = runtime.block_on(async { rt::spawn(task).await.expect("the case ends") });
        let (wall, cpu) = (start.elapsed(), machine::cpu_time() - cpu_before);
        if round > 0 {
            lines.push(figures(&outcome, wall.as_nanos(), cpu.as_nanos()));
        }
    }
    machine::stop();
    // Dropping it would wait for threads that no longer run.
    std::mem::forget(runtime);
    lines
}

/// Returns wall time and CPU time in ns per operation, the third figure in µs, and then per
/// operation: transfers of cache lines, reads of shared lines, read-modify-writes, parks, polls of
/// epoll, and system calls.
fn figures(outcome: &Outcome, wall_ns: u128, cpu_ns: u128) -> String {
    let counts = machine::counts();
    let times = [wall_ns as f64, cpu_ns as f64];
    let events = [
        counts.transfers,
        counts.shared_reads,
        counts.rmws,
        counts.parks,
        counts.polls,
        counts.calls,
    ];
    let per_operation = |value: f64| format!("{:.3}", value / outcome.operations as f64);
    let mut line: Vec<String> = times.into_iter().map(per_operation).collect();
    line.push(format!("{:.3}", outcome.third_us));
    line.extend(events.into_iter().map(|count| per_operation(count as f64)));
    line.join(" ")
}

fn set_constants(constants: &[&str]) {
    for constant in constants {
        let parts = constant.split_once('=');
        let parsed = parts.and_then(|(name, value)| Some((name, value.parse().ok()?)));
        match parsed {
            Some((name, value)) if machine::set(name, value) => {}
            _ => fail(&format!("`{constant}` does not set a constant of the machine")),
        }
    }
}

fn find(name: &str) -> &'static Case {
    let found = CASES.iter().find(|case| case.name == name);
    found.unwrap_or_else(|| fail(&format!("there is no case `{name}`")))
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| fail(&format!("`{text}` is not a number")))
}

fn fail(why: &str) -> ! {
    eprintln!("manycore: {why}");
    exit(2);
}
