//! A task wants to write to what it reads, and keeps its read lock meanwhile.
//!
//! Tokio's pull request 2733 calls it easy to create by accident; pueue issue 208 is one of many.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::RwLock;
use tokio::time::sleep;

#[derive(Default)]
struct Config {
    version: u64,
}

async fn refresh(config: Arc<RwLock<Config>>) {
    let current = config.read().await;
    if current.version < 1 {
        println!("ready");
        let mut new = config.write().await;
        new.version += 1;
    }
}

async fn refresh_after_reading(config: Arc<RwLock<Config>>) {
    loop {
        let version = {
            let current = config.read().await;
            sleep(Duration::from_millis(10)).await;
            current.version
        };
        config.write().await.version = version + 1;
        println!("tick");
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let config = Arc::new(RwLock::new(Config::default()));
        let refreshed = tokio::spawn(refresh(config.clone()));
        refreshed.await.unwrap();
        println!("version {}", config.read().await.version);
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let config = Arc::new(RwLock::new(Config::default()));
        let first = tokio::spawn(refresh_after_reading(config.clone()));
        let second = tokio::spawn(refresh_after_reading(config));
        println!("ready");
        first.await.unwrap();
        second.await.unwrap();
    });
}
