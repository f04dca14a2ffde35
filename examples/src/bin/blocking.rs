//! Blocking done right: five ways to run code that does not return for a while, and one wrong one.
//!
//! ```text
//! cargo run --release -p examples --bin blocking
//! ```
//!
//! A heartbeat ticks every 10 ms on the same worker. The table shows how late it was at worst while
//! each way did its work. Run it on Tokio too: the first row differs most, because Wakeful hands
//! the worker of a blocked task to another thread.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::{JoinSet, block_in_place, spawn_blocking, yield_now};
use tokio::time::{interval, sleep};

const BEAT: Duration = Duration::from_millis(10);

/// A call that blocks, such as a query of a database driver without async.
fn blocking_call() -> u32 {
    thread::sleep(Duration::from_millis(100));
    42
}

/// A computation, of which one `step` takes some microseconds.
fn step(state: u64) -> u64 {
    (0..2_000).fold(state, |sum, n| black_box(sum.rotate_left(5) ^ n).wrapping_mul(0x9E37_79B9))
}

// One worker, so that no other worker takes tasks from one that is blocked.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() {
    // The largest lateness since the last reset, in microseconds.
    let latest_us = Arc::new(AtomicU64::new(0));
    tokio::spawn(heartbeat(latest_us.clone()));
    let measure = async |name: &str, work: JoinSet<u32>| {
        latest_us.store(0, Relaxed);
        let results = work.join_all().await;
        sleep(2 * BEAT).await; // A beat that is late now belongs to this work.
        let late_ms = latest_us.load(Relaxed) as f64 / 1000.0;
        println!("{name:34} {:3} results, heartbeat late by {late_ms:.1} ms", results.len());
    };
    // Spawned and not awaited here: this function runs on a thread of its own, the tasks on the worker.
    let one = |task: std::pin::Pin<Box<dyn Future<Output = u32> + Send>>| {
        let mut set = JoinSet::new();
        set.spawn(task);
        set
    };

    // Wrong: the worker is blocked, and with it everything that is queued behind this task.
    measure("wrong: call it in the task", one(Box::pin(async { blocking_call() }))).await;

    // 1. A closure on the pool of threads for blocking calls. The usual way.
    let task = async { spawn_blocking(blocking_call).await.unwrap() };
    measure("spawn_blocking", one(Box::pin(task))).await;

    // 2. Many of them: the pool has 512 threads, the database perhaps 4 connections. The semaphore
    //    limits how many run; the others wait as tasks, which cost little.
    let permits = Arc::new(Semaphore::new(4));
    let mut set = JoinSet::new();
    for _ in 0..12 {
        let permits = permits.clone();
        set.spawn(async move {
            let _permit = permits.acquire().await.unwrap();
            spawn_blocking(blocking_call).await.unwrap()
        });
    }
    measure("spawn_blocking with a limit", set).await;

    // 3. In place: the worker's other tasks move to another thread first. For code that borrows,
    //    and so cannot be a `'static` closure. Not possible on a current-thread runtime.
    let task = async {
        let text = String::from("borrowed");
        block_in_place(|| blocking_call() + text.len() as u32)
    };
    measure("block_in_place", one(Box::pin(task))).await;

    // 4. A thread of its own, for a resource that only one thread may use. Requests go there by a
    //    channel and carry the sender for their answer.
    let (requests, mut queue) = mpsc::channel::<oneshot::Sender<u32>>(16);
    let owner = thread::spawn(move || {
        while let Some(answer) = queue.blocking_recv() {
            let _ = answer.send(blocking_call()); // The asker may have given up.
        }
    });
    let task = async move {
        let (sender, answer) = oneshot::channel();
        requests.send(sender).await.unwrap();
        answer.await.unwrap()
    };
    measure("a thread and a channel", one(Box::pin(task))).await;
    owner.join().unwrap(); // It ends when the last sender is dropped.

    // 5. A long computation that yields: other tasks run in between. `yield_now` is cheap, but not
    //    free, so a few hundred microseconds of work go between two of them.
    let task = async {
        let (start, mut last_yield, mut state) = (Instant::now(), Instant::now(), 1);
        while start.elapsed() < Duration::from_millis(100) {
            state = step(state);
            if last_yield.elapsed() > Duration::from_micros(200) {
                yield_now().await;
                last_yield = Instant::now();
            }
        }
        state as u32
    };
    measure("a computation that yields", one(Box::pin(task))).await;
}

/// Ticks, and records how late each tick is.
async fn heartbeat(latest_us: Arc<AtomicU64>) {
    let mut beats = interval(BEAT);
    loop {
        let due = beats.tick().await;
        latest_us.fetch_max(due.elapsed().as_micros() as u64, Relaxed);
    }
}
