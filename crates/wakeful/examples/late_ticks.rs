//! Measures how late interval ticks are while other tasks block their workers.
//!
//! `late_ticks [blockers] [sleep|spin] [milliseconds] [seconds]` runs on two workers: the blocking
//! tasks, which block again and again, and 100 tasks on a 1 ms interval.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use wakeful::runtime::Builder;
use wakeful::time::{MissedTickBehavior, interval};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |at: usize, or: &str| arguments.get(at).map_or(or.to_owned(), String::clone);
    let blockers: usize = argument(0, "2").parse().expect("a number of tasks");
    let spins = argument(1, "sleep") == "spin";
    let block_for = Duration::from_millis(argument(2, "100").parse().expect("milliseconds"));
    let run_for = Duration::from_secs(argument(3, "5").parse().expect("seconds"));

    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let late_us = Arc::new(Mutex::new(Vec::<u64>::new()));
    for _ in 0..blockers {
        runtime.spawn(async move {
            loop {
                block(block_for, spins);
                wakeful::task::yield_now().await;
            }
        });
    }
    for _ in 0..100 {
        let late_us = late_us.clone();
        runtime.spawn(async move {
            let mut ticks = interval(Duration::from_millis(1));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            let until = Instant::now() + run_for;
            let mut own = Vec::new();
            while Instant::now() < until {
                let due = ticks.tick().await;
                own.push(due.elapsed().as_micros() as u64);
            }
            late_us.lock().unwrap().append(&mut own);
        });
    }
    std::thread::sleep(run_for + Duration::from_millis(300));
    let metrics = runtime.metrics();
    let mut late_us = std::mem::take(&mut *late_us.lock().unwrap());
    late_us.sort_unstable();
    let quantile = |q: f64| late_us[((late_us.len() - 1) as f64 * q) as usize] as f64 / 1e3;
    println!(
        "{} ticks late by ms: p50 {:.2}, p99 {:.2}, p99.9 {:.2}, max {:.2}; {} stalls, {} hand-offs, {} threads held",
        late_us.len(),
        quantile(0.5),
        quantile(0.99),
        quantile(0.999),
        quantile(1.0),
        metrics.stall_count(),
        metrics.stall_handoff_count(),
        metrics.num_stalled_threads(),
    );
    runtime.shutdown_background();
}

fn block(for_: Duration, spins: bool) {
    if !spins {
        return std::thread::sleep(for_);
    }
    let until = Instant::now() + for_;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}
