//! The actions of the page's buttons, and tasks that tick all the time.
//!
//! It is ordinary async Rust, with the mistakes that the page demonstrates made on purpose.

use crate::figures::milliseconds;
use crate::histogram::Counts;
use crate::journal::Kind;
use crate::show::Show;
use serde_json::{Value, json};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use wakeful::sync::Notify;
use wakeful::task::{JoinHandle, yield_now};
use wakeful::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

/// How long a task blocks or computes.
pub const HELD_FOR: Duration = Duration::from_secs(1);
/// How many tasks or timers a button creates.
pub const MANY: usize = 100_000;
/// How many tasks or timers are created without a yield, so that the loop that creates them is not
/// a stall itself.
const AT_ONCE: usize = 1_000;
/// How long the many tasks wait for each other.
const TASKS_STAY: Duration = Duration::from_secs(2);
const TIMERS_FROM: Duration = Duration::from_millis(500);
const TIMERS_TO: Duration = Duration::from_millis(2_500);
/// The number of tasks that tick every millisecond.
pub const TICKERS: usize = 4;
/// How long after a block answers still count as delayed by it.
const AFTERMATH: Duration = Duration::from_millis(100);

/// Too many actions of this kind are in progress already.
#[derive(Debug)]
pub struct Busy;

/// Spawns tasks that tick every millisecond and record how late the ticks are.
pub fn tick(show: &Arc<Show>) {
    for _ in 0..TICKERS {
        let show = show.clone();
        show.timers.fetch_add(1, Relaxed);
        wakeful::spawn(async move {
            let mut ticks = interval(Duration::from_millis(1));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                let due = ticks.tick().await;
                show.ticks.record(due.elapsed());
            }
        });
    }
}

/// Blocks `workers` of the runtime's workers, as a program should not do.
pub fn block(show: &Arc<Show>, workers: usize) -> Result<(), Busy> {
    hold(show, Kind::Block, workers, || std::thread::sleep(HELD_FOR))
}

/// Spawns a task that computes without yielding.
pub fn compute(show: &Arc<Show>) -> Result<(), Busy> {
    hold(show, Kind::Compute, 1, || {
        let (until, mut sum) = (Instant::now() + HELD_FOR, 0_u64);
        while Instant::now() < until {
            (0..10_000).for_each(|n| sum = black_box(sum.rotate_left(5) ^ n));
        }
    })
}

/// Runs `what` in `tasks` tasks, and records the latency of requests meanwhile.
fn hold(show: &Arc<Show>, kind: Kind, tasks: usize, what: fn()) -> Result<(), Busy> {
    if show.journal.in_progress(kind) >= 4 {
        return Err(Busy);
    }
    let number = show.journal.begin(kind, tasks, show.now()).ok_or(Busy)?;
    let before = show.requests.look();
    let held: Vec<_> = (0..tasks).map(|_| wakeful::spawn(async move { what() })).collect();
    let show = show.clone();
    wakeful::spawn(async move {
        all(held).await;
        let until = show.now();
        sleep(AFTERMATH).await;
        show.journal.end(number, until, meanwhile(&show.requests.look().since(&before)));
    });
    Ok(())
}

/// Spawns many tasks that all wait for each other, and then end.
pub fn spawn_tasks(show: &Arc<Show>) -> Result<(), Busy> {
    if show.journal.in_progress(Kind::Tasks) >= 5 {
        return Err(Busy);
    }
    let number = show.journal.begin(Kind::Tasks, MANY, show.now()).ok_or(Busy)?;
    let show = show.clone();
    wakeful::spawn(async move {
        let start = Instant::now();
        let (mut tasks, mut gates) = (Vec::with_capacity(MANY), Vec::new());
        for _ in 0..MANY / AT_ONCE {
            let gate = Arc::new(Notify::new());
            for _ in 0..AT_ONCE {
                let gate = gate.clone();
                tasks.push(wakeful::spawn(async move { gate.notified().await }));
            }
            gates.push(gate);
            yield_now().await;
        }
        let spawned = start.elapsed();
        sleep(TASKS_STAY).await;
        let open = Instant::now();
        for gate in gates {
            gate.notify_waiters();
            yield_now().await;
        }
        all(tasks).await;
        let outcome = json!({
            "spawned": milliseconds(spawned),
            "ended": milliseconds(open.elapsed()),
        });
        show.journal.end(number, show.now(), outcome);
    });
    Ok(())
}

/// Arms many timers, which are due over a period of two seconds.
pub fn arm_timers(show: &Arc<Show>) -> Result<(), Busy> {
    if show.journal.in_progress(Kind::Timers) >= 5 {
        return Err(Busy);
    }
    let number = show.journal.begin(Kind::Timers, MANY, show.now()).ok_or(Busy)?;
    let show = show.clone();
    wakeful::spawn(async move {
        let (start, before) = (Instant::now(), show.late_timers.look());
        let mut tasks = Vec::with_capacity(MANY);
        for batch in 0..MANY / AT_ONCE {
            for at in 0..AT_ONCE {
                // Timers that are created one after another are due at different times.
                let place = (at * MANY / AT_ONCE + batch) as u32;
                let due = start + TIMERS_FROM + (TIMERS_TO - TIMERS_FROM) / MANY as u32 * place;
                show.timers.fetch_add(1, Relaxed);
                let show = show.clone();
                tasks.push(wakeful::spawn(async move {
                    sleep_until(due).await;
                    show.late_timers.record(due.elapsed());
                    show.timers.fetch_sub(1, Relaxed);
                }));
            }
            yield_now().await;
        }
        let armed = start.elapsed();
        all(tasks).await;
        let late = show.late_timers.look().since(&before);
        let outcome = json!({
            "armed": milliseconds(armed),
            "p99": late.quantile(0.99).map(milliseconds),
            "max": late.max().map(milliseconds),
        });
        show.journal.end(number, show.now(), outcome);
    });
    Ok(())
}

async fn all(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        // An error means that the runtime is shutting down.
        let _ended_or_cancelled = task.await;
    }
}

fn meanwhile(requests: &Counts) -> Value {
    json!({
        "answered": requests.total(),
        "p99": requests.quantile(0.99).map(milliseconds),
        "max": requests.max().map(milliseconds),
    })
}
