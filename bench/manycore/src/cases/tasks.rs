//! Tasks that start tasks.

use rt::runtime::Handle;
use rt::sync::oneshot;

use super::{Outcome, join_all, no_third};
use machine::{work_ns, work_us};

pub async fn spawn(_workers: u64) -> Outcome {
    let tasks = 4_000;
    join_all((0..tasks).map(|_| rt::spawn(async {})).collect()).await;
    no_third(tasks)
}

pub async fn spawners(workers: u64) -> Outcome {
    let (spawners, batches, batch) = (2 * workers, 20, 10);
    let spawner = move || async move {
        for _ in 0..batches {
            join_all((0..batch).map(|_| rt::spawn(async { work_ns(300) })).collect()).await;
        }
    };
    join_all((0..spawners).map(|_| rt::spawn(spawner())).collect()).await;
    no_third(spawners * batches * batch)
}

pub async fn fork_join(workers: u64) -> Outcome {
    let (rounds, parts) = (50, 2 * workers);
    for _ in 0..rounds {
        join_all((0..parts).map(|_| rt::spawn(async { work_us(10) })).collect()).await;
    }
    no_third(rounds * parts)
}

pub async fn remote(_workers: u64) -> Outcome {
    let tasks = 2_000;
    let (sender, spawned) = oneshot::channel();
    let runtime = Handle::current();
    let outside = std::thread::spawn(move || {
        let spawned = (0..tasks).map(|_| runtime.spawn(async { work_ns(300) })).collect();
        assert!(sender.send(spawned).is_ok(), "the case waits for it");
    });
    join_all(spawned.await.expect("the thread sends the tasks")).await;
    outside.join().expect("the thread does not panic");
    no_third(tasks)
}

pub async fn chain(_workers: u64) -> Outcome {
    fn link(left: u64, end: oneshot::Sender<()>) {
        rt::spawn(async move {
            work_ns(200);
            if left > 0 {
                link(left - 1, end);
            } else {
                end.send(()).expect("the case waits for it");
            }
        });
    }
    let links = 2_000;
    let (sender, end) = oneshot::channel();
    link(links - 1, sender);
    end.await.expect("the last link sends");
    no_third(links)
}

pub async fn blocking(workers: u64) -> Outcome {
    let calls = 20;
    let caller = move || async move {
        for _ in 0..calls {
            rt::task::spawn_blocking(|| work_us(5)).await.expect("the call does not panic");
        }
    };
    join_all((0..workers).map(|_| rt::spawn(caller())).collect()).await;
    no_third(workers * calls)
}
