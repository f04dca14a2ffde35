//! Measures the runtime ten times per second, on a thread outside it.

use crate::arguments::Handoff;
use crate::histogram::Counts;
use crate::show::Show;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use wakeful::runtime::RuntimeMetrics;

const PERIOD: Duration = Duration::from_millis(100);
/// How many periods percentiles span: a tenth of a second has too few requests for a p99.
const TIMES_OVER: usize = 5;

/// The thread that measures. [`Sampler::stop`] ends it, and with it the streams of the pages.
pub struct Sampler {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<()>,
}

impl Sampler {
    pub fn start(show: Arc<Show>, metrics: RuntimeMetrics) -> std::io::Result<Sampler> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new().name("sampler".to_owned()).spawn(move || {
            let (mut actions, mut stalls) = (0, 0);
            let mut past = VecDeque::from([Reading::take(&show, &metrics)]);
            let mut due = Instant::now() + PERIOD;
            let wait = |due: Instant| due.saturating_duration_since(Instant::now());
            while stopped.recv_timeout(wait(due)) == Err(RecvTimeoutError::Timeout) {
                let mut now = Reading::take(&show, &metrics);
                show.live.send_frame(&frame(&show, &metrics, &past, &mut now).to_string());
                past.push_back(now);
                if past.len() > TIMES_OVER {
                    past.pop_front();
                }
                if let Some(list) = show.journal.changed_since(&mut actions) {
                    show.live.send_list("actions", &list.to_string());
                }
                if let Some(list) = show.stalls.changed_since(&mut stalls) {
                    show.live.send_list("stalls", &list.to_string());
                }
                due = (due + PERIOD).max(Instant::now());
            }
            show.live.end();
        })?;
        Ok(Sampler { stop, thread })
    }

    pub fn stop(self) {
        drop(self.stop);
        self.thread.join().expect("the thread that measures does not panic");
    }
}

/// All counters at one moment.
struct Reading {
    at: Instant,
    workers: Vec<WorkerReading>,
    requests: Counts,
    ticks: Counts,
}

#[derive(Debug, Clone, Copy, Default)]
struct WorkerReading {
    busy: Duration,
    /// How much of the current busy stretch has been counted already.
    ahead: Duration,
    parks: u64,
    wakes: u64,
    polls: u64,
    steals: u64,
}

impl Reading {
    fn take(show: &Show, metrics: &RuntimeMetrics) -> Reading {
        let worker = |worker| {
            let parks_and_wakes = metrics.worker_park_unpark_count(worker);
            let wakes = parks_and_wakes / 2;
            WorkerReading {
                busy: metrics.worker_total_busy_duration(worker),
                ahead: Duration::ZERO,
                parks: parks_and_wakes - wakes,
                wakes,
                polls: metrics.worker_poll_count(worker),
                steals: metrics.worker_steal_count(worker),
            }
        };
        Reading {
            at: Instant::now(),
            workers: (0..metrics.num_workers()).map(worker).collect(),
            requests: show.requests.look(),
            ticks: show.ticks.look(),
        }
    }
}

impl WorkerReading {
    fn is_asleep(&self) -> bool {
        self.parks > self.wakes
    }

    /// Returns whether the worker is still in the poll of `before`: a task blocks it, and no other
    /// thread has taken it over.
    fn is_stuck(&self, before: &WorkerReading) -> bool {
        !self.is_asleep() && self.parks == before.parks && self.polls == before.polls
    }

    /// Returns the share of `elapsed` during which the worker was busy, since `before`.
    ///
    /// The runtime adds a busy stretch to its counter when the stretch ends. A stretch in progress
    /// is counted here as it grows. Otherwise it would show as idle at first, and as more than 100
    /// % when it ends.
    fn count_busy(&mut self, before: &WorkerReading, elapsed: Duration) -> f64 {
        let added = self.busy.saturating_sub(before.busy);
        if added.is_zero() && !self.is_asleep() && self.parks == before.parks {
            self.ahead = before.ahead + elapsed;
            return 1.0;
        }
        let share = added.saturating_sub(before.ahead).as_secs_f64() / elapsed.as_secs_f64();
        share.min(1.0)
    }
}

/// Returns the event with the figures for the time until `now`, starting from the last reading in
/// `past`.
fn frame(
    show: &Show,
    metrics: &RuntimeMetrics,
    past: &VecDeque<Reading>,
    now: &mut Reading,
) -> Value {
    let (first, before) = (&past[0], &past[past.len() - 1]);
    let elapsed = now.at - before.at;
    let sum = |reading: &Reading, of: fn(&WorkerReading) -> u64| -> u64 {
        reading.workers.iter().map(of).sum()
    };
    let rate = |of| per_second(sum(now, of) - sum(before, of), elapsed);
    let rates = (rate(|w| w.polls), rate(|w| w.wakes), rate(|w| w.steals));
    let workers: Vec<Value> = (0..now.workers.len())
        .map(|index| {
            let thread = metrics.worker_thread_id(index);
            let busy = now.workers[index].count_busy(&before.workers[index], elapsed);
            json!({
                "busy": rounded(busy),
                "asleep": now.workers[index].is_asleep(),
                "stuck": now.workers[index].is_stuck(&before.workers[index]),
                "thread": thread.and_then(|thread| show.thread_number(thread)),
                "queue": metrics.worker_local_queue_depth(index),
            })
        })
        .collect();
    json!({
        "at": show.now().as_millis() as u64,
        "workers": workers,
        "tasks": metrics.num_alive_tasks(),
        "polls": rates.0,
        "wakes": rates.1,
        "steals": rates.2,
        "queue": metrics.global_queue_depth(),
        "timers": show.timers.load(Relaxed),
        "handoff": show.handoff == Handoff::On,
        "stalls": metrics.stall_count(),
        "handoffs": metrics.stall_handoff_count(),
        "held": metrics.num_stalled_threads(),
        "longest": milliseconds(metrics.longest_stall()),
        "requests": times(&now.requests.since(&first.requests), now.at - first.at),
        "failed": show.failed_requests.load(Relaxed),
        "ticks": times(&now.ticks.since(&first.ticks), now.at - first.at),
    })
}

/// Returns percentiles in ms, and the rate per second, of what was counted in `elapsed`.
fn times(counts: &Counts, elapsed: Duration) -> Value {
    json!({
        "rate": per_second(counts.total(), elapsed),
        "p50": counts.quantile(0.5).map(milliseconds),
        "p99": counts.quantile(0.99).map(milliseconds),
        "max": counts.max().map(milliseconds),
    })
}

pub fn milliseconds(duration: Duration) -> f64 {
    duration.as_micros() as f64 / 1e3
}

fn per_second(count: u64, elapsed: Duration) -> f64 {
    (count as f64 / elapsed.as_secs_f64()).round()
}

fn rounded(share: f64) -> f64 {
    (share * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(100);

    fn reading(busy_ms: u64, parks: u64, wakes: u64) -> WorkerReading {
        let busy = Duration::from_millis(busy_ms);
        WorkerReading { busy, parks, wakes, ..WorkerReading::default() }
    }

    #[test]
    fn busy_time_is_the_growth_of_the_counter() {
        let share = reading(130, 9, 8).count_busy(&reading(100, 5, 4), WINDOW);
        assert!((share - 0.3).abs() < 1e-9, "{share}");
    }

    #[test]
    fn a_sleeping_worker_is_not_busy() {
        assert_eq!(reading(100, 5, 4).count_busy(&reading(100, 5, 4), WINDOW), 0.0);
    }

    #[test]
    fn a_stretch_in_progress_counts_once() {
        let before = reading(100, 5, 5);
        let mut first = reading(100, 5, 5);
        assert_eq!(first.count_busy(&before, WINDOW), 1.0);
        let mut second = reading(100, 5, 5);
        assert_eq!(second.count_busy(&first, WINDOW), 1.0);
        // The stretch ended 20 ms later, and the worker slept.
        let share = reading(320, 6, 5).count_busy(&second, WINDOW);
        assert!((share - 0.2).abs() < 1e-9, "{share}");
    }

    #[test]
    fn a_worker_is_stuck_if_it_neither_polls_nor_sleeps() {
        let polls = |polls| WorkerReading { polls, ..reading(100, 5, 5) };
        assert!(polls(7).is_stuck(&polls(7)));
        assert!(!polls(8).is_stuck(&polls(7)));
        assert!(!reading(100, 5, 4).is_stuck(&reading(100, 5, 4)), "it sleeps");
        assert!(!reading(100, 6, 6).is_stuck(&reading(100, 5, 5)), "it has slept");
    }

    #[test]
    fn rates_are_per_second() {
        assert_eq!(per_second(32, WINDOW), 320.0);
    }
}
