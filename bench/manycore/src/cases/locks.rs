//! Locks and semaphores.

use std::sync::Arc;

use rt::sync::{Mutex, Semaphore};

use super::{Outcome, join_all, no_third};
use machine::{work_ns, work_us};

pub async fn mutex(workers: u64) -> Outcome {
    let (tasks, rounds) = (4 * workers, 50);
    let counter = Arc::new(Mutex::new(0u64));
    let count = move |counter: Arc<Mutex<u64>>| async move {
        for _ in 0..rounds {
            *counter.lock().await += 1;
            work_ns(500);
        }
    };
    join_all::<()>((0..tasks).map(|_| rt::spawn(count(counter.clone()))).collect()).await;
    assert_eq!(*counter.lock().await, tasks * rounds);
    no_third(tasks * rounds)
}

pub async fn semaphore(workers: u64) -> Outcome {
    let (tasks, rounds) = (4 * workers, 50);
    let permits = Arc::new(Semaphore::new(workers as usize));
    let acquire = move |permits: Arc<Semaphore>| async move {
        for _ in 0..rounds {
            let permit = permits.acquire().await.expect("the semaphore stays open");
            work_us(1);
            drop(permit);
        }
    };
    join_all::<()>((0..tasks).map(|_| rt::spawn(acquire(permits.clone()))).collect()).await;
    no_third(tasks * rounds)
}
