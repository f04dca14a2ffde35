//! Sleeps, timeouts, and what is started at intervals.

use std::time::{Duration, Instant};

use rt::task::yield_now;
use rt::time::{interval, sleep, timeout};

use super::{Outcome, join_all, no_third, percentile};
use machine::{work_ns, work_us};

pub async fn bursts(workers: u64) -> Outcome {
    let (rounds, parts) = (40, 2 * workers);
    let mut ticks = interval(Duration::from_millis(2));
    let mut times = Vec::new();
    for _ in 0..rounds {
        ticks.tick().await;
        let start = Instant::now();
        join_all((0..parts).map(|_| rt::spawn(async { work_us(50) })).collect()).await;
        times.push(start.elapsed().as_nanos() as f64 / 1000.0);
    }
    Outcome { operations: rounds * parts, third_us: percentile(times, 0.95) }
}

pub async fn sleeps(_workers: u64) -> Outcome {
    let tasks = 2_000;
    let lateness = move |time: Duration| async move {
        let start = Instant::now();
        sleep(time).await;
        start.elapsed().saturating_sub(time).as_nanos() as f64 / 1000.0
    };
    let times = (0..tasks).map(|number| Duration::from_micros(1_000 + number * 7 % 20_000));
    let late = join_all(times.map(|time| rt::spawn(lateness(time))).collect()).await;
    Outcome { operations: tasks, third_us: percentile(late, 0.99) }
}

/// As a server does for each request.
pub async fn timeouts(workers: u64) -> Outcome {
    let (tasks, rounds) = (4 * workers, 60);
    let body = move || async move {
        for _ in 0..rounds {
            let request = async {
                work_ns(500);
                yield_now().await;
            };
            timeout(Duration::from_secs(5), request).await.expect("the request is fast");
        }
    };
    join_all((0..tasks).map(|_| rt::spawn(body())).collect()).await;
    no_third(tasks * rounds)
}
