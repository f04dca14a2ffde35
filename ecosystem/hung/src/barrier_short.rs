//! A barrier waits for three tasks, and there are two.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Barrier;
use tokio::time::sleep;

async fn party(start: Arc<Barrier>) {
    start.wait().await;
    println!("started");
}

async fn party_each_round(start: Arc<Barrier>, delay: Duration) {
    loop {
        sleep(delay).await;
        if start.wait().await.is_leader() {
            println!("tick");
        }
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let start = Arc::new(Barrier::new(3));
        let first = tokio::spawn(party(start.clone()));
        let second = tokio::spawn(party(start));
        println!("ready");
        first.await.unwrap();
        second.await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        let start = Arc::new(Barrier::new(3));
        println!("ready");
        for delay in [0, 1] {
            tokio::spawn(party_each_round(start.clone(), Duration::from_millis(delay)));
        }
        let last = tokio::spawn(party_each_round(start, Duration::from_millis(20)));
        last.await.unwrap();
    });
}
