//! A task wakes itself for ever: it waits for a flag, and holds the lock that the task needs that
//! would set it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::task::yield_now;
use tokio::time::sleep;

#[derive(Default)]
struct Index {
    pages: Mutex<Vec<u64>>,
    is_loaded: AtomicBool,
}

impl Index {
    async fn load(&self) {
        self.pages.lock().await.push(1);
        self.is_loaded.store(true, Ordering::SeqCst);
    }

    async fn search(&self) -> u64 {
        let pages = self.pages.lock().await;
        println!("ready");
        while !self.is_loaded.load(Ordering::SeqCst) {
            yield_now().await;
        }
        pages[0]
    }

    /// The fixed one lets go of the lock, and looks now and then.
    async fn search_when_loaded(&self) -> u64 {
        while !self.is_loaded.swap(false, Ordering::SeqCst) {
            sleep(Duration::from_millis(1)).await;
        }
        self.pages.lock().await[0]
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let index = Arc::new(Index::default());
        let searched = index.clone();
        let found = tokio::spawn(async move { searched.search().await });
        while index.pages.try_lock().is_ok() {
            sleep(Duration::from_millis(1)).await;
        }
        let loaded = tokio::spawn(async move { index.load().await });
        loaded.await.unwrap();
        println!("found {}", found.await.unwrap());
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let index = Arc::new(Index::default());
        println!("ready");
        loop {
            let searched = index.clone();
            let found = tokio::spawn(async move { searched.search_when_loaded().await });
            sleep(Duration::from_millis(10)).await;
            index.load().await;
            found.await.unwrap();
            println!("tick");
        }
    });
}
