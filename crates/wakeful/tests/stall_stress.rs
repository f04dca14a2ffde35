//! Tasks that block their threads in one of ten polls, between the other things tasks do, for about
//! a second or as long as `WAKEFUL_STRESS_SECONDS` says.

mod support;

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::Poll;
use std::thread;
use std::time::{Duration, Instant};
use support::{DropCount, DropGuard, Mailbox, stress_time};
use wakeful::runtime::{Builder, Runtime};
use wakeful::task::{self, JoinHandle};
use wakeful::time;

/// A small pseudo-random number generator with a seed.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % limit
    }

    fn random_duration(&mut self, limit_us: u64) -> Duration {
        Duration::from_micros(self.below(limit_us))
    }
}

/// Stalls the thread by sleeping or spinning.
fn block(random: &mut Random) {
    let random_duration = random.random_duration(3000);
    if random.below(4) > 0 {
        return thread::sleep(random_duration);
    }
    let until = Instant::now() + random_duration;
    while Instant::now() < until {
        std::hint::spin_loop();
    }
}

struct World {
    /// Messages from any task to any task.
    mail: Vec<Arc<Mailbox<u64>>>,
    begun: AtomicUsize,
    done: AtomicUsize,
    drops: DropCount,
}

impl World {
    fn new() -> Arc<World> {
        Arc::new(World {
            mail: (0..8).map(|_| Mailbox::new()).collect(),
            begun: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            drops: DropCount::default(),
        })
    }

    /// Returns an output for a task. Its drop sometimes blocks.
    fn output(self: &Arc<Self>, seed: u64) -> BlocksInDrop {
        self.begun.fetch_add(1, SeqCst);
        BlocksInDrop(Random::new(seed), self.drops.guard())
    }

    /// Returns a task of `steps` steps, some of which spawn tasks.
    fn task(self: &Arc<Self>, seed: u64, steps: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        self.begun.fetch_add(1, SeqCst);
        let (world, guard) = (self.clone(), self.drops.guard());
        Box::pin(async move {
            let _guard = guard;
            let mut random = Random::new(seed);
            let mut sum = 1;
            for _ in 0..steps {
                if random.below(10) == 0 {
                    block(&mut random);
                }
                sum += world.step(&mut random, steps).await;
            }
            world.done.fetch_add(1, SeqCst);
            sum
        })
    }

    /// Performs a random step. Returns how many tasks it has run.
    async fn step(self: &Arc<Self>, random: &mut Random, steps: u64) -> u64 {
        let seed = random.below(u64::MAX);
        match random.below(10) {
            0 => task::yield_now().await,
            1 => time::sleep(random.random_duration(2000)).await,
            2 => {
                // A timer that is registered on this worker, and dropped on the worker of the next
                // poll.
                let mut sleep = Box::pin(time::sleep(random.random_duration(500)));
                poll_fn(|cx| Poll::Ready(sleep.as_mut().poll(cx).is_ready())).await;
                task::yield_now().await;
            }
            3 if steps > 1 => return task::spawn(self.task(seed, steps / 2)).await.unwrap(),
            4 if steps > 1 => {
                let aborted = task::spawn(self.task(seed, steps / 2));
                block_sometimes(random);
                aborted.abort();
                let _done_or_not = aborted.await;
            }
            5 => task::block_in_place(|| block_sometimes(random)),
            9 => {
                let output = self.output(seed);
                let sleep = time::sleep(random.random_duration(500));
                drop(task::spawn(async move {
                    sleep.await;
                    output
                }));
            }
            6 => task::spawn_blocking(|| ()).await.unwrap(),
            7 => self.mail[seed as usize % self.mail.len()].put(seed),
            _ => {
                let mail = self.mail[seed as usize % self.mail.len()].clone();
                let _came_or_not = time::timeout(random.random_duration(1000), mail.take()).await;
            }
        }
        0
    }
}

/// Sometimes blocks when it is dropped.
struct BlocksInDrop(Random, #[allow(dead_code, reason = "counts when it is dropped")] DropGuard);

impl Drop for BlocksInDrop {
    fn drop(&mut self) {
        block_sometimes(&mut self.0);
    }
}

fn block_sometimes(random: &mut Random) {
    if random.below(4) == 0 {
        block(random);
    }
}

/// Counts the calls of a hook, some of which block too.
static PARKS: AtomicUsize = AtomicUsize::new(0);

fn runtime(workers: usize) -> Runtime {
    // A low threshold, so that there are many stalls.
    let stall_after = Duration::from_micros(500);
    Builder::new_multi_thread()
        .worker_threads(workers)
        .stall_after(stall_after)
        .thread_keep_alive(Duration::from_millis(20))
        .on_thread_park(|| {
            if PARKS.fetch_add(1, Relaxed) % 64 == 0 {
                thread::sleep(Duration::from_millis(1));
            }
        })
        .enable_all()
        .build()
        .unwrap()
}

#[test]
fn every_task_ends_and_none_runs_twice() {
    let until = Instant::now() + stress_time();
    let (mut seed, mut handoffs) = (1, 0);
    while Instant::now() < until {
        for workers in [1, 2, 4] {
            let (runtime, world) = (runtime(workers), World::new());
            let tasks: Vec<JoinHandle<u64>> = (0..32)
                .map(|_| {
                    seed += 1;
                    runtime.spawn(world.task(seed, 8))
                })
                .collect();
            runtime.block_on(async {
                for task in tasks {
                    task.await.unwrap();
                }
            });
            handoffs += runtime.metrics().stall_handoff_count();
            drop(runtime);
            assert_eq!(world.drops.get(), world.begun.load(SeqCst), "not every future was dropped");
            assert!(world.done.load(SeqCst) >= 32);
        }
    }
    assert_ne!(handoffs, 0, "no stall was handed off, so nothing was tested");
}

#[test]
fn a_runtime_is_dropped_in_the_middle() {
    let until = Instant::now() + stress_time();
    let mut random = Random::new(7);
    while Instant::now() < until {
        let (runtime, world) = (runtime(2), World::new());
        for _ in 0..32 {
            drop(runtime.spawn(world.task(random.below(u64::MAX), 16)));
        }
        thread::sleep(random.random_duration(5000));
        match random.below(3) {
            0 => runtime.shutdown_background(),
            1 => runtime.shutdown_timeout(random.random_duration(2000)),
            _ => drop(runtime),
        }
        support::eventually("all tasks are dropped", || {
            world.drops.get() == world.begun.load(SeqCst)
        });
    }
}
