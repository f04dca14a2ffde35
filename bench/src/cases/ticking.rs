//! Tasks that wake every few milliseconds, and their lateness. It shows how a runtime treats tasks that
//! wait while it has other work.

use crate::common::Latch;
use crate::measure::{Metric, Sample, lateness};
use crate::os;
use crate::runtime::Timers;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);

/// How long a task of [`sleep_loops_beside`] sleeps.
const LOOP_SLEEP: Duration = Duration::from_millis(5);

pub struct Tickers {
    stop: Arc<AtomicBool>,
    stopped: Arc<Latch>,
    late_us: Arc<Mutex<Vec<f64>>>,
}

impl Tickers {
    pub fn start<R: Timers>(tasks: usize) -> Tickers {
        let tickers =
            Tickers { stop: Arc::default(), stopped: Latch::new(tasks), late_us: Arc::default() };
        for _ in 0..tasks {
            let (stop, stopped) = (tickers.stop.clone(), tickers.stopped.clone());
            let all_late_us = tickers.late_us.clone();
            R::detach(async move {
                let late_us = tick_until::<R>(&stop).await;
                all_late_us.lock().unwrap().extend(late_us);
                stopped.count_down();
            });
        }
        tickers
    }

    /// Stops the tasks, and returns the lateness of all ticks.
    pub async fn stop(self) -> Sample {
        self.stop.store(true, Ordering::Relaxed);
        self.stopped.wait().await;
        lateness(std::mem::take(&mut *self.late_us.lock().unwrap()))
    }
}

/// Ticks missed during one long pause are counted one by one, so that the pause has its full
/// weight.
async fn tick_until<R: Timers>(stop: &AtomicBool) -> Vec<f64> {
    let mut late_us = Vec::with_capacity(4096);
    let mut due = Instant::now() + TICK;
    while !stop.load(Ordering::Relaxed) {
        R::sleep(due.saturating_duration_since(Instant::now())).await;
        let now = Instant::now();
        while due <= now {
            late_us.push((now - due).as_secs_f64() * 1e6);
            due += TICK;
        }
    }
    late_us
}

/// Runs `loops` tasks that sleep in a loop beside `busy_tasks` others. `busy` gets the number of
/// its task and when to end, and returns how often it has been polled.
///
/// Unlike [`Tickers`], a late task does not catch up: each sleep begins when the one before ends.
pub fn sleep_loops_beside<R: Timers, F>(
    loops: usize,
    busy_tasks: usize,
    busy: fn(usize, Instant) -> F,
    span: Duration,
) -> Sample
where
    F: Future<Output = usize> + Send + 'static,
{
    R::run(async move {
        let begun = Instant::now();
        let end = begun + span;
        let busy: Vec<_> = (0..busy_tasks).map(|nth| R::spawn(busy(nth, end))).collect();
        let sleeping: Vec<_> =
            (0..loops).map(|_| R::spawn(sleep_until_end::<R>(begun, end))).collect();
        let mut polls = 0;
        for task in busy {
            polls += task.await;
        }
        let threads = os::threads();
        let (mut ticks, mut latest) = (0, Duration::ZERO);
        for task in sleeping {
            let (own_ticks, own_latest) = task.await;
            ticks += own_ticks;
            latest = latest.max(own_latest);
        }
        let per_second = |count| count as f64 / span.as_secs_f64();
        vec![
            Metric::higher_is_better("ticks", "/s", per_second(ticks)),
            Metric::lower_is_better("latest", "ms late", latest.as_secs_f64() * 1e3),
            Metric::lower_is_better("threads", "in all", threads as f64),
            Metric::for_context("busy polls", "/s", per_second(polls)),
        ]
    })
}

/// Returns the number of sleeps that ended in time to count, and the lateness of the latest one.
async fn sleep_until_end<R: Timers>(begun: Instant, end: Instant) -> (usize, Duration) {
    let (mut ticks, mut latest) = (0, Duration::ZERO);
    // The first poll may be late, too.
    let mut due = begun + LOOP_SLEEP;
    loop {
        R::sleep(due.saturating_duration_since(Instant::now())).await;
        let now = Instant::now();
        latest = latest.max(now - due);
        if now >= end {
            return (ticks, latest);
        }
        ticks += 1;
        due = now + LOOP_SLEEP;
    }
}
