//! One task polls two futures with `join!`, and they lock two mutexes in different orders.
//!
//! `join!` begins with another future in each poll, so the last leaf of the task changes all the time.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::task::yield_now;
use tokio::time::sleep;

#[derive(Default)]
struct Store {
    index: Mutex<u64>,
    log: Mutex<u64>,
}

impl Store {
    async fn append(&self) {
        let mut log = self.log.lock().await;
        yield_now().await;
        *self.index.lock().await += 1;
        *log += 1;
    }

    async fn compact(&self) {
        let mut index = self.index.lock().await;
        yield_now().await;
        *self.log.lock().await = 0;
        *index = 0;
    }

    /// The fixed one locks in the order of `append`.
    async fn compact_in_order(&self) {
        let mut log = self.log.lock().await;
        yield_now().await;
        *self.index.lock().await = 0;
        *log = 0;
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let store = Arc::new(Store::default());
        let both = tokio::spawn(async move {
            println!("ready");
            tokio::join!(store.append(), store.compact());
        });
        both.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let store = Arc::new(Store::default());
        println!("ready");
        let both = tokio::spawn(async move {
            loop {
                tokio::join!(store.append(), store.compact_in_order());
                sleep(Duration::from_millis(10)).await;
                println!("tick");
            }
        });
        both.await.unwrap();
    });
}
