//! Two tasks wait for each other's end.

use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// A service that ends after the other one, whose handle it is sent.
async fn service(other: oneshot::Receiver<JoinHandle<()>>) {
    let other = other.await.unwrap();
    other.await.unwrap();
}

/// A service that ends after some turns of its own.
async fn short_service() {
    for _ in 0..3 {
        sleep(Duration::from_millis(10)).await;
        println!("tick");
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let (for_first, first_receives) = oneshot::channel();
        let (for_second, second_receives) = oneshot::channel();
        let first = tokio::spawn(service(first_receives));
        let second = tokio::spawn(service(second_receives));
        for_first.send(second).unwrap();
        println!("ready");
        for_second.send(first).unwrap();
        tokio::signal::ctrl_c().await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        loop {
            let (for_first, first_receives) = oneshot::channel();
            let first = tokio::spawn(service(first_receives));
            for_first.send(tokio::spawn(short_service())).unwrap();
            first.await.unwrap();
        }
    });
}
