//! Tasks that wake every millisecond, and their lateness. It shows how a runtime treats tasks that
//! wait while it has other work.

use crate::common::Latch;
use crate::measure::{Sample, lateness};
use crate::runtime::Timers;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(1);

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
