//! `select!` on `&mut future` stops polling a future that is next in a mutex's queue.
//!
//! The program of Oxide's RFD 609, "Futurelock": a background task holds the lock for a while, the
//! first operation queues for it, and after a time limit the second one does. The lock is handed to
//! the first operation, which exists but is not polled any more.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, oneshot};
use tokio::time::sleep;

async fn operation(lock: Arc<Mutex<u32>>) {
    *lock.lock().await += 1;
}

/// Holds the lock for longer than the time limit of the first operation.
async fn in_background(lock: Arc<Mutex<u32>>, is_locked: oneshot::Sender<()>) {
    let _guard = lock.lock().await;
    is_locked.send(()).unwrap();
    sleep(Duration::from_millis(100)).await;
}

async fn with_background_task(lock: Arc<Mutex<u32>>) {
    let (is_locked, locked) = oneshot::channel();
    tokio::spawn(in_background(lock, is_locked));
    locked.await.unwrap();
}

async fn first_or_second(lock: Arc<Mutex<u32>>) {
    with_background_task(lock.clone()).await;
    let mut first = operation(lock.clone()).boxed();
    tokio::select! {
        () = &mut first => {}
        () = sleep(Duration::from_millis(20)) => {
            println!("ready");
            operation(lock).await;
        }
    }
}

/// The fixed one owns the first operation, and drops it at the time limit.
async fn first_is_dropped(lock: Arc<Mutex<u32>>) {
    with_background_task(lock.clone()).await;
    let is_late = tokio::select! {
        () = operation(lock.clone()) => false,
        () = sleep(Duration::from_millis(20)) => true,
    };
    if is_late {
        operation(lock).await;
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        tokio::spawn(first_or_second(Arc::default())).await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        loop {
            tokio::spawn(first_is_dropped(Arc::default())).await.unwrap();
            println!("tick");
        }
    });
}
