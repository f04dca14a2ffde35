//! Work that is split into tasks and joined again: how long the last task takes, and the CPU time.

use crate::common::{Latch, random_us, use_cpu_for};
use crate::load::{LATENCY_P50, LATENCY_P99, REQUESTS};
use crate::measure::{Metric, Sample, quantile};
use crate::os;
use crate::runtime::{Runtime, Timers};
use std::ops::Range;
use std::time::{Duration, Instant};

const BURST_TASKS: usize = 32;
const BURST_TASK_TAKES: Duration = Duration::from_micros(50);

const PARTS: usize = 8;

/// The CPU time of a part. It varies, because equal parts end at the same time.
const PART_TAKES_US: Range<u64> = 10..20;

/// Spawns a burst of tasks in each `interval`, and measures the time until the last of them has
/// ended.
pub fn bursts<R: Timers>(interval: Duration, span: Duration) -> Sample {
    R::run(async move {
        // Starts the threads of the runtime.
        burst::<R>().await;
        let (begun, cpu) = (Instant::now(), os::process_cpu_time());
        let mut due = begun;
        let mut took_us = Vec::new();
        while begun.elapsed() < span {
            let left = due.saturating_duration_since(Instant::now());
            // The lateness of the timer does not count, but that of the bursts before does: a
            // burst that was due during a long one counts from when it was due.
            let mut since = due;
            if !left.is_zero() {
                R::sleep(left).await;
                since = Instant::now();
            }
            burst::<R>().await;
            took_us.push(since.elapsed().as_secs_f64() * 1e6);
            due += interval;
        }
        let cpu_us = (os::process_cpu_time() - cpu).as_secs_f64() * 1e6;
        let cpu_per_burst = cpu_us / took_us.len() as f64;
        took_us.sort_by(f64::total_cmp);
        let took = |name, share| Metric::lower_is_better(name, "us", quantile(&took_us, share));
        vec![
            took("p50", 0.5),
            took("p95", 0.95),
            took("p99", 0.99),
            Metric::lower_is_better("CPU", "us/burst", cpu_per_burst),
        ]
    })
}

async fn burst<R: Runtime>() {
    let all_done = Latch::new(BURST_TASKS);
    for _ in 0..BURST_TASKS {
        let done = all_done.clone();
        R::detach(async move {
            use_cpu_for(BURST_TASK_TAKES);
            done.count_down();
        });
    }
    all_done.wait().await;
}

/// Runs `at_once` tasks, each of which spawns the parts of a request and joins them, again and
/// again.
pub fn requests_of_parts<R: Runtime>(at_once: usize, span: Duration) -> Sample {
    R::run(async move {
        let (begun, cpu) = (Instant::now(), os::process_cpu_time());
        let serve = |_| R::spawn(serve_requests::<R>(begun + span));
        let mut took_us = Vec::new();
        for served in (0..at_once).map(serve).collect::<Vec<_>>() {
            took_us.append(&mut served.await);
        }
        let requests = took_us.len() as f64;
        let cpu_us = (os::process_cpu_time() - cpu).as_secs_f64() * 1e6;
        let per_second = requests / begun.elapsed().as_secs_f64();
        took_us.sort_by(f64::total_cmp);
        let took = |name, share| Metric::lower_is_better(name, "us", quantile(&took_us, share));
        vec![
            Metric::higher_is_better(REQUESTS, "/s", per_second),
            took(LATENCY_P50, 0.5),
            took(LATENCY_P99, 0.99),
            Metric::lower_is_better("CPU", "us/request", cpu_us / requests),
        ]
    })
}

/// Returns how long each request took, in microseconds.
async fn serve_requests<R: Runtime>(end: Instant) -> Vec<f64> {
    let mut took_us = Vec::new();
    let mut begun = Instant::now();
    // At least one, so that there are figures.
    while took_us.is_empty() || begun < end {
        let spawn = |_| R::spawn(async { use_cpu_for(random_us(PART_TAKES_US)) });
        for part in (0..PARTS).map(spawn).collect::<Vec<_>>() {
            part.await;
        }
        took_us.push(begun.elapsed().as_secs_f64() * 1e6);
        begun = Instant::now();
    }
    took_us
}
