//! `Notify`, `Semaphore`, `Mutex`, `RwLock` and `Barrier`, with waits that are dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use wakeful::sync::{Barrier, Mutex, Notify, RwLock, Semaphore};
use wakeful::task::yield_now;
use wakeful::time::timeout;
use wakeful_torture::rng::Rng;

use crate::scene::{Scene, join, join_all, moment};
use crate::sums::{Pair, SUMS, finding, note};

const TASKS: usize = 6;
const ROUNDS: usize = 60;

/// Two tasks notify each other. Each notification must arrive.
pub async fn notify(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let [ping, pong] = [(); 2].map(|()| Arc::new(Notify::new()));
        let rounds = rng.below(ROUNDS);
        let (pinged, answer) = (ping.clone(), pong.clone());
        let other = scene.spawn(async move {
            for _ in 0..rounds {
                pinged.notified().await;
                SUMS.right(Pair::Notify, 1);
                answer.notify_one();
            }
        });
        for _ in 0..rounds {
            SUMS.left(Pair::Notify, 1);
            ping.notify_one();
            // A wait that is dropped leaves its permit to the next one.
            while timeout(moment(&mut rng, 500), pong.notified()).await.is_err() {
                note("waits for a notification given up");
            }
        }
        join(other).await;
    }
}

/// A task that stops waiting returns its permits: all are available in the end.
pub async fn semaphore(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let permits = 1 + rng.below(6);
        let semaphore = Arc::new(Semaphore::new(permits));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| scene.spawn(acquire(semaphore.clone(), permits, rng.fork())))
            .collect();
        if rng.chance(300) {
            yield_now().await;
            tasks[0].abort();
        }
        join_all(tasks).await;
        if semaphore.available_permits() != permits {
            let free = semaphore.available_permits();
            finding(format!("{free} of {permits} permits are available in the end"));
        }
    }
}

async fn acquire(semaphore: Arc<Semaphore>, permits: usize, mut rng: Rng) {
    for _ in 0..ROUNDS {
        let wanted = 1 + rng.below(permits);
        let permit = timeout(moment(&mut rng, 600), semaphore.acquire_many(wanted as u32)).await;
        let Ok(Ok(permit)) = permit else {
            note("waits for permits given up");
            continue;
        };
        // Counts when dropped, so also if the task is aborted.
        let released = CountedRelease::new();
        if rng.chance(500) {
            yield_now().await;
        }
        drop(permit);
        drop(released);
    }
}

struct CountedRelease;

impl CountedRelease {
    fn new() -> CountedRelease {
        SUMS.left(Pair::Permits, 1);
        CountedRelease
    }
}

impl Drop for CountedRelease {
    fn drop(&mut self) {
        SUMS.right(Pair::Permits, 1);
    }
}

/// Counts under a lock, with a yield between read and write.
pub async fn mutex(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let mutex = Arc::new(Mutex::new(0));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (mutex, mut rng) = (mutex.clone(), rng.fork());
                scene.spawn(async move {
                    for _ in 0..ROUNDS {
                        match timeout(moment(&mut rng, 600), mutex.lock()).await {
                            Ok(mut count) => {
                                let before = *count;
                                yield_now().await;
                                *count = before + 1;
                                SUMS.left(Pair::Mutex, 1);
                            }
                            Err(_) => note("waits for a mutex given up"),
                        }
                    }
                })
            })
            .collect();
        join_all(tasks).await;
        SUMS.right(Pair::Mutex, *mutex.lock().await);
    }
}

/// As [`mutex`], with readers that must not see half of a write.
pub async fn rwlock(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let rwlock = Arc::new(RwLock::new((0, 0)));
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (rwlock, mut rng) = (rwlock.clone(), rng.fork());
                scene.spawn(async move {
                    for _ in 0..ROUNDS {
                        read_or_write(&rwlock, &mut rng).await;
                    }
                })
            })
            .collect();
        join_all(tasks).await;
        SUMS.right(Pair::RwLock, rwlock.read().await.0);
    }
}

async fn read_or_write(rwlock: &RwLock<(u64, u64)>, rng: &mut Rng) {
    let limit = moment(rng, 600);
    if rng.chance(700) {
        if let Ok(pair) = timeout(limit, rwlock.read()).await {
            yield_now().await;
            if pair.0 != pair.1 {
                finding("a reader saw half of a write");
            }
        }
    } else if let Ok(mut pair) = timeout(limit, rwlock.write()).await {
        pair.0 += 1;
        yield_now().await;
        pair.1 += 1;
        SUMS.left(Pair::RwLock, 1);
    }
}

/// Each round has one leader, and no task passes the barrier before all have arrived.
pub async fn barrier(mut scene: Scene) {
    let mut rng = scene.rng();
    while scene.should_continue() {
        let barrier = Arc::new(Barrier::new(TASKS));
        let arrived = Arc::new(AtomicU64::new(0));
        let rounds = 1 + rng.below(ROUNDS) as u64;
        let tasks: Vec<_> = (0..TASKS)
            .map(|_| {
                let (barrier, arrived) = (barrier.clone(), arrived.clone());
                scene.spawn(async move {
                    for round in 1..=rounds {
                        arrived.fetch_add(1, SeqCst);
                        if barrier.wait().await.is_leader() {
                            SUMS.right(Pair::Barrier, 1);
                        }
                        if arrived.load(SeqCst) < round * TASKS as u64 {
                            finding("a task passed the barrier before all have arrived");
                        }
                    }
                })
            })
            .collect();
        SUMS.left(Pair::Barrier, rounds);
        join_all(tasks).await;
    }
}
