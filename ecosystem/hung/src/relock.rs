//! A task locks a mutex that it holds: a function with the lock calls one that takes it.
//!
//! murmur pull request 680: "No error, no failing test, no log line. Org sync simply stopped."

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::time::sleep;

#[derive(Default)]
struct Org {
    shares: Mutex<Vec<String>>,
}

impl Org {
    async fn background_sync(&self) {
        let shares = self.shares.lock().await;
        if shares.is_empty() {
            println!("ready");
            self.share("welcome").await;
        }
    }

    async fn share(&self, name: &str) {
        self.shares.lock().await.push(name.to_owned());
    }

    /// The fixed one: the lock is free again when `share` takes it.
    async fn background_sync_without_lock(&self) {
        let is_empty = {
            let mut shares = self.shares.lock().await;
            sleep(Duration::from_millis(10)).await;
            shares.pop().is_none()
        };
        if is_empty {
            self.share("welcome").await;
        }
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let org = Arc::new(Org::default());
        let sync = tokio::spawn(async move { org.background_sync().await });
        sync.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let org = Arc::new(Org::default());
        println!("ready");
        let sync = tokio::spawn(async move {
            loop {
                org.background_sync_without_lock().await;
                println!("tick");
            }
        });
        sync.await.unwrap();
    });
}
