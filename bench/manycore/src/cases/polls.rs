//! Tasks that yield, and compute in between.

use std::time::Instant;

use rt::task::yield_now;

use super::{Outcome, join_all, no_third, percentile};
use machine::{work_ns, work_us};

/// Runs tasks that compute for `ns` and yield, `rounds` times.
async fn yielding(tasks: u64, rounds: u64, ns: u64) {
    let body = move || async move {
        for _ in 0..rounds {
            work_ns(ns);
            yield_now().await;
        }
    };
    join_all((0..tasks).map(|_| rt::spawn(body())).collect()).await;
}

pub async fn short(workers: u64) -> Outcome {
    let (tasks, rounds) = (8 * workers, 100);
    yielding(tasks, rounds, 200).await;
    no_third(tasks * rounds)
}

pub async fn long(workers: u64) -> Outcome {
    let (tasks, rounds) = (4 * workers, 20);
    yielding(tasks, rounds, 20_000).await;
    no_third(tasks * rounds)
}

/// A scheduler that has learned from short polls must still spread long ones.
pub async fn mixed(workers: u64) -> Outcome {
    let (rounds, tasks) = (5, 2 * workers);
    let mut times = Vec::new();
    for _ in 0..rounds {
        yielding(4 * workers, 50, 200).await;
        let start = Instant::now();
        join_all((0..tasks).map(|_| rt::spawn(async { work_us(300) })).collect()).await;
        times.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    Outcome { operations: rounds * tasks, third_us: percentile(times, 0.5) }
}
