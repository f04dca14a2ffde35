//! Permits of a semaphore are forgotten on an error path, until none is left.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// A request that fails. Its permit was to be given back with the answer, which never comes.
async fn failing_request(slots: Arc<Semaphore>) {
    let permit = slots.acquire().await.unwrap();
    permit.forget();
}

async fn request(slots: Arc<Semaphore>) {
    let _permit = slots.acquire().await.unwrap();
    println!("answered");
}

async fn slow_request(slots: Arc<Semaphore>) {
    loop {
        let _permit = slots.acquire().await.unwrap();
        sleep(Duration::from_millis(20)).await;
        println!("tick");
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let slots = Arc::new(Semaphore::new(2));
        for _ in 0..2 {
            tokio::spawn(failing_request(slots.clone())).await.unwrap();
        }
        println!("ready");
        tokio::spawn(request(slots)).await.unwrap();
    });
}

/// Three requests for two slots: there is always one that waits, and never for long.
pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let slots = Arc::new(Semaphore::new(2));
        println!("ready");
        tokio::spawn(slow_request(slots.clone()));
        tokio::spawn(slow_request(slots.clone()));
        tokio::spawn(slow_request(slots)).await.unwrap();
    });
}
