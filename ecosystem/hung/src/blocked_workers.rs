//! Tasks block the threads that run them: one sleeps with a lock of std, one waits for the lock.

use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;

type Cache = Arc<Mutex<u64>>;

async fn rebuild(cache: Cache, is_locked: oneshot::Sender<()>) {
    let mut cache = cache.lock().unwrap();
    is_locked.send(()).unwrap();
    println!("ready");
    thread::sleep(Duration::from_secs(3600));
    *cache += 1;
}

async fn look_up(cache: Cache, locked: oneshot::Receiver<()>) -> u64 {
    locked.await.unwrap();
    *cache.lock().unwrap()
}

/// The fixed one blocks threads that are there for it.
async fn rebuild_elsewhere(cache: Cache) {
    loop {
        let cache = cache.clone();
        let rebuilt = spawn_blocking(move || {
            let mut cache = cache.lock().unwrap();
            thread::sleep(Duration::from_millis(20));
            *cache += 1;
        });
        rebuilt.await.unwrap();
        println!("tick");
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let cache = Cache::default();
        let (is_locked, locked) = oneshot::channel();
        let rebuilt = tokio::spawn(rebuild(cache.clone(), is_locked));
        let found = tokio::spawn(look_up(cache, locked));
        rebuilt.await.unwrap();
        println!("{}", found.await.unwrap());
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let cache = Cache::default();
        println!("ready");
        let first = tokio::spawn(rebuild_elsewhere(cache.clone()));
        let second = tokio::spawn(rebuild_elsewhere(cache));
        first.await.unwrap();
        second.await.unwrap();
    });
}
