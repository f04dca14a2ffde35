//! Each holder of a connection needs a second one, and the pool has none left.
//!
//! The same as graph-node pull request 2354 calls a "double dip", with a semaphore.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Barrier, Semaphore};
use tokio::time::sleep;

/// Writes a row, and the audit row on a connection of its own.
async fn write_row(pool: Arc<Semaphore>, both_started: Arc<Barrier>) {
    let _connection = pool.acquire().await.unwrap();
    if both_started.wait().await.is_leader() {
        println!("ready");
    }
    let _for_audit = pool.acquire().await.unwrap();
    println!("written");
}

async fn write_rows(pool: Arc<Semaphore>) {
    loop {
        let _connection = pool.acquire().await.unwrap();
        sleep(Duration::from_millis(10)).await;
        let _for_audit = pool.acquire().await.unwrap();
        println!("tick");
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let pool = Arc::new(Semaphore::new(2));
        let both_started = Arc::new(Barrier::new(2));
        let first = tokio::spawn(write_row(pool.clone(), both_started.clone()));
        let second = tokio::spawn(write_row(pool, both_started));
        first.await.unwrap();
        second.await.unwrap();
    });
}

/// One connection more than there are writers: one of them can always go on.
pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let pool = Arc::new(Semaphore::new(3));
        let first = tokio::spawn(write_rows(pool.clone()));
        let second = tokio::spawn(write_rows(pool));
        println!("ready");
        first.await.unwrap();
        second.await.unwrap();
    });
}
