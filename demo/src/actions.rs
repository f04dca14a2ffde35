//! What the buttons do, and the tasks that tick all the time.
//!
//! Ordinary async Rust, with the mistakes that the page is about made on purpose.

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
/// How many tasks or timers a press of the button is good for.
pub const MANY: usize = 100_000;
/// Tasks and timers that are made without a pause, so that the loop which makes them is no stall itself.
const AT_ONCE: usize = 1_000;
/// How long the many tasks wait for each other.
const TASKS_STAY: Duration = Duration::from_secs(2);
const TIMERS_FROM: Duration = Duration::from_millis(500);
const TIMERS_TO: Duration = Duration::from_millis(2_500);
/// Tasks that tick each millisecond.
pub const TICKERS: usize = 4;
/// Answers that a block held up come right after it, and belong to it.
const AFTERMATH: Duration = Duration::from_millis(100);

/// There is more under way already than makes sense.
#[derive(Debug)]
pub struct TooMuch;

/// Tasks that tick each millisecond, and note how late they are.
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

/// Blocks `workers` of the runtime's workers, in the way one should not.
pub fn block(show: &Arc<Show>, workers: usize) -> Result<(), TooMuch> {
    hold(show, Kind::Block, workers, || std::thread::sleep(HELD_FOR))
}

/// A task that computes without giving way.
pub fn compute(show: &Arc<Show>) -> Result<(), TooMuch> {
    hold(show, Kind::Compute, 1, || {
        let (until, mut sum) = (Instant::now() + HELD_FOR, 0_u64);
        while Instant::now() < until {
            (0..10_000).for_each(|n| sum = black_box(sum.rotate_left(5) ^ n));
        }
    })
}

/// Runs `what` in `tasks` tasks, and notes how requests fared meanwhile.
fn hold(show: &Arc<Show>, kind: Kind, tasks: usize, what: fn()) -> Result<(), TooMuch> {
    if show.journal.under_way(kind) >= 4 {
        return Err(TooMuch);
    }
    let number = show.journal.begin(kind, tasks, show.now()).ok_or(TooMuch)?;
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

/// Many tasks that are all there at once, wait for each other, and go.
pub fn spawn_tasks(show: &Arc<Show>) -> Result<(), TooMuch> {
    if show.journal.under_way(Kind::Tasks) >= 5 {
        return Err(TooMuch);
    }
    let number = show.journal.begin(Kind::Tasks, MANY, show.now()).ok_or(TooMuch)?;
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

/// Many timers, which come due over two seconds.
pub fn arm_timers(show: &Arc<Show>) -> Result<(), TooMuch> {
    if show.journal.under_way(Kind::Timers) >= 5 {
        return Err(TooMuch);
    }
    let number = show.journal.begin(Kind::Timers, MANY, show.now()).ok_or(TooMuch)?;
    let show = show.clone();
    wakeful::spawn(async move {
        let (start, before) = (Instant::now(), show.late_timers.look());
        let mut tasks = Vec::with_capacity(MANY);
        for batch in 0..MANY / AT_ONCE {
            for at in 0..AT_ONCE {
                // Neighbours in the making are not neighbours in time.
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
        // An error would be that the runtime ends.
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
