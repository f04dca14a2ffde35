//! Wakeful at work: what `cargo run` shows.
//!
//! Each step is a few lines of ordinary async Rust; the numbers are this machine's.

use std::error::Error;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use wakeful::runtime::Runtime;
use wakeful::task::{spawn_blocking, yield_now};

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    println!("Wakeful on {} workers\n", runtime.metrics().num_workers());
    // On a worker, as a server's code would be, instead of on this thread.
    runtime.block_on(runtime.spawn(show()))?;
    count(&runtime);
    Ok(())
}

async fn show() {
    const TASKS: u64 = 200_000;
    let took = time(async {
        let tasks: Vec<_> = (0..TASKS).map(|n| wakeful::spawn(async move { n })).collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.expect("the task only returns a number");
        }
        assert_eq!(sum, TASKS * (TASKS - 1) / 2);
    });
    say("spawn and join tasks", TASKS, took.await);

    const TURNS: u64 = 1_000;
    let took = time(async {
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                wakeful::spawn(async {
                    for _ in 0..TURNS {
                        yield_now().await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("the task only yields");
        }
    });
    say("100 tasks that give way", 100 * TURNS, took.await);

    const ROUNDS: u64 = 100_000;
    let (ping, pong) = (Arc::new(Mailbox::default()), Arc::new(Mailbox::default()));
    let took = time(async {
        let (to, from) = (pong.clone(), ping.clone());
        let echo = wakeful::spawn(async move {
            for _ in 0..ROUNDS {
                to.put(from.take().await);
            }
        });
        for round in 0..ROUNDS {
            ping.put(round);
            assert_eq!(pong.take().await, round);
        }
        echo.await.expect("the echo only echoes");
    });
    say("ping-pong between two tasks", ROUNDS, took.await);

    const CALLS: u64 = 10_000;
    let took = time(async {
        for call in 0..CALLS {
            assert_eq!(spawn_blocking(move || call).await.expect("returns at once"), call);
        }
    });
    say("spawn_blocking, one by one", CALLS, took.await);

    let aborted = wakeful::spawn(std::future::pending::<()>());
    aborted.abort();
    println!("\nan aborted task:   {}", aborted.await.expect_err("it was pending for ever"));
}

/// A place for one message, with a waker for who waits for it.
#[derive(Default)]
struct Mailbox(Mutex<(Option<u64>, Option<Waker>)>);

impl Mailbox {
    fn put(&self, message: u64) {
        let mut inner = self.0.lock().expect("nobody panics in here");
        inner.0 = Some(message);
        let waker = inner.1.take();
        drop(inner);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn take(&self) -> impl Future<Output = u64> + '_ {
        poll_fn(|cx| {
            let mut inner = self.0.lock().expect("nobody panics in here");
            match inner.0.take() {
                Some(message) => Poll::Ready(message),
                None => {
                    inner.1 = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
    }
}

async fn time(work: impl Future<Output = ()>) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

fn say(what: &str, count: u64, took: Duration) {
    let each = took.as_nanos() as u64 / count;
    println!("{what:<30} {count:>8} in {:>6.1} ms, {each:>6} ns each", took.as_secs_f64() * 1e3);
}

fn count(runtime: &Runtime) {
    let metrics = runtime.metrics();
    println!("\nworker     polls    stolen    sleeps");
    for worker in 0..metrics.num_workers() {
        println!(
            "{worker:>6} {:>9} {:>9} {:>9}",
            metrics.worker_poll_count(worker),
            metrics.worker_steal_count(worker),
            metrics.worker_park_count(worker),
        );
    }
    println!("threads for blocking calls: {}", metrics.num_blocking_threads());
}
