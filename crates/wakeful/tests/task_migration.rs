//! Tasks that wait for each other move between workers, until the runtime keeps them on one worker.
//! No task is lost, and a task that needs a second worker gets one.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::{Duration, Instant};
use support::{Flag, multi_thread};
use wakeful::runtime::Runtime;
use wakeful::sync::Semaphore;
use wakeful::task::yield_now;
use wakeful::time::sleep;

/// How long the tasks run. This is far longer than the runtime needs to find that one worker is
/// enough.
const TIME: Duration = Duration::from_millis(150);

/// Runs sixteen tasks that share four permits for a while. Returns how often a task acquired one.
fn contend(runtime: &Runtime) -> impl Future<Output = usize> + use<> {
    let (permits, taken) = (Arc::new(Semaphore::new(4)), Arc::new(AtomicUsize::new(0)));
    let until = Instant::now() + TIME;
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let (permits, taken) = (permits.clone(), taken.clone());
            runtime.spawn(async move {
                let mut count = 0;
                while count % 64 != 0 || Instant::now() < until {
                    let _permit = permits.acquire().await.unwrap();
                    yield_now().await;
                    taken.fetch_add(1, Relaxed);
                    count += 1;
                }
                count
            })
        })
        .collect();
    async move {
        let mut sum = 0;
        for task in tasks {
            sum += task.await.unwrap();
        }
        assert_eq!(sum, taken.load(Relaxed));
        sum
    }
}

#[test]
fn all_tasks_complete() {
    for workers in [2, 3, 8] {
        let runtime = multi_thread(workers);
        let contenders = contend(&runtime);
        assert!(runtime.block_on(contenders) >= 16 * 64);
    }
}

#[test]
fn a_blocking_task_among_them_stalls_no_task() {
    let runtime = multi_thread(2);
    let contenders = contend(&runtime);
    let handle = runtime.handle().clone();
    let blocks = runtime.spawn(async move {
        for _ in 0..20 {
            sleep(Duration::from_millis(5)).await;
            let flag = Flag::default();
            let sets = flag.clone();
            // Queued behind this task, on its current worker.
            handle.spawn(async move { sets.set() });
            flag.block();
        }
    });
    runtime.block_on(async {
        blocks.await.unwrap();
        contenders.await;
    });
}

#[test]
fn two_tasks_that_block_for_each_other_both_run() {
    let runtime = multi_thread(2);
    let contenders = contend(&runtime);
    for _ in 0..20 {
        let (one, other) = (Flag::default(), Flag::default());
        let (sets_one, waits_for_other) = (one.clone(), other.clone());
        let first = runtime.spawn(async move {
            sets_one.set();
            waits_for_other.block();
        });
        let second = runtime.spawn(async move {
            other.set();
            one.block();
        });
        runtime.block_on(async {
            first.await.unwrap();
            second.await.unwrap();
        });
    }
    runtime.block_on(contenders);
}

#[test]
fn the_runtime_can_be_dropped_meanwhile() {
    for _ in 0..20 {
        let runtime = multi_thread(2);
        let contenders = contend(&runtime);
        runtime.block_on(async { sleep(Duration::from_millis(5)).await });
        drop(runtime);
        drop(contenders);
    }
}
