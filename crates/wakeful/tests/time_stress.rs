//! Sleeps that are created, polled, reset and dropped on arbitrary workers, for about a second.

mod support;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;
use support::{multi_thread, stress_time};
use wakeful::task;
use wakeful::time::{self, Instant, Sleep};

type SharedSleeps = Arc<Mutex<Vec<Pin<Box<Sleep>>>>>;

/// A small deterministic pseudo-random generator.
struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }

    fn span(&mut self) -> Duration {
        let limit = [50, 500, 5_000, 50_000_000][self.below(4) as usize];
        Duration::from_micros(self.below(limit))
    }
}

async fn act(sleeps: SharedSleeps, until: Instant, seed: u64, done: Arc<AtomicUsize>) {
    let mut rng = Rng(seed | 1);
    while Instant::now() < until {
        match rng.below(8) {
            0 | 1 => {
                let mut sleep = Box::pin(time::sleep(rng.span()));
                poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await;
                sleeps.lock().unwrap().push(sleep);
            }
            2 | 3 => {
                let taken = sleeps.lock().unwrap().pop();
                drop(taken);
            }
            4 => {
                let taken = sleeps.lock().unwrap().pop();
                if let Some(mut sleep) = taken {
                    sleep.as_mut().reset(Instant::now() + rng.span());
                    sleeps.lock().unwrap().insert(0, sleep);
                }
            }
            5 => {
                // Takes another task's sleep and waits for it to the end.
                let taken = sleeps.lock().unwrap().pop();
                if let Some(mut sleep) = taken {
                    let deadline = Instant::now() + Duration::from_micros(rng.below(300));
                    sleep.as_mut().reset(deadline);
                    sleep.await;
                    assert!(Instant::now() >= deadline, "early");
                }
            }
            6 => {
                let span = Duration::from_micros(rng.below(300));
                let began = Instant::now();
                time::sleep(span).await;
                assert!(began.elapsed() >= span, "early");
            }
            _ => task::yield_now().await,
        }
        done.fetch_add(1, Relaxed);
    }
}

#[test]
fn on_all_workers_and_external_threads() {
    for workers in [1, 3] {
        let runtime = multi_thread(workers);
        let (sleeps, done) = (SharedSleeps::default(), Arc::new(AtomicUsize::new(0)));
        let until = Instant::now() + stress_time() / 2;
        let actors: Vec<_> = (0..16)
            .map(|n| runtime.spawn(act(sleeps.clone(), until, 0x9e37_79b9 * (n + 1), done.clone())))
            .collect();
        let strangers: Vec<_> = (0..2)
            .map(|n| {
                let (handle, sleeps) = (runtime.handle().clone(), sleeps.clone());
                let done = done.clone();
                std::thread::spawn(move || handle.block_on(act(sleeps, until, 77 + n, done)))
            })
            .collect();
        runtime.block_on(async {
            for actor in actors {
                let late = time::timeout(stress_time() + Duration::from_secs(30), actor).await;
                late.expect("a wake-up was lost").unwrap();
            }
        });
        for stranger in strangers {
            stranger.join().unwrap();
        }
        assert!(done.load(SeqCst) > 100);
        // Some sleeps are dropped before their runtime, some after it.
        let rest = std::mem::take(&mut *sleeps.lock().unwrap());
        let (before, after): (Vec<_>, Vec<_>) =
            rest.into_iter().enumerate().partition(|(n, _)| n % 2 == 0);
        drop(before);
        drop(runtime);
        drop(after);
    }
}

#[test]
fn runtimes_end_while_sleeps_come_and_go() {
    let until = Instant::now() + stress_time() / 2;
    let mut rounds = 0;
    while Instant::now() < until {
        let runtime = multi_thread(2);
        let (sleeps, done) = (SharedSleeps::default(), Arc::new(AtomicUsize::new(0)));
        for n in 0..8 {
            let forever = Instant::now() + Duration::from_secs(3600);
            runtime.spawn(act(sleeps.clone(), forever, n * 31 + rounds + 1, done.clone()));
        }
        while done.load(Relaxed) < 200 {
            std::thread::yield_now();
        }
        drop(runtime);
        drop(sleeps);
        rounds += 1;
    }
}

/// Sleeps for up to `longest_us` repeatedly, and occasionally blocks its thread.
async fn sleep_repeatedly(until: Instant, seed: u64, longest_us: u64) {
    let mut rng = Rng(seed | 1);
    while Instant::now() < until {
        let span = Duration::from_micros(rng.below(longest_us));
        let began = Instant::now();
        time::sleep(span).await;
        assert!(began.elapsed() >= span, "early");
        if rng.below(5_000) == 0 {
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

#[test]
fn dense_timers_while_workers_park_and_unpark() {
    for workers in [1, 2, 4] {
        let runtime = multi_thread(workers);
        let until = Instant::now() + stress_time() / 3;
        let sleepers: Vec<_> = (0..1_000)
            .map(|n| runtime.spawn(sleep_repeatedly(until, 0x9e37_79b9 * (n + 1), 10_000)))
            .collect();
        let strangers: Vec<_> = (0..2)
            .map(|n| {
                let handle = runtime.handle().clone();
                std::thread::spawn(move || {
                    let mut rng = Rng(n + 1);
                    while Instant::now() < until {
                        let span = rng.span().min(Duration::from_millis(1));
                        let called = handle.spawn(async move { time::sleep(span).await });
                        handle.block_on(called).unwrap();
                    }
                })
            })
            .collect();
        runtime.block_on(async {
            for sleeper in sleepers {
                let late = time::timeout(stress_time() + Duration::from_secs(30), sleeper).await;
                late.expect("a wake-up was lost").unwrap();
            }
        });
        for stranger in strangers {
            stranger.join().unwrap();
        }
    }
}
