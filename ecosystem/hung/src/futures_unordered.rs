//! Futures in a `FuturesUnordered` wait for a lock that the loop over their results waits for too.
//!
//! futures-rs issue 2133, and the second example of the crate roughage.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::time::sleep;

type Log = Arc<Mutex<Vec<u32>>>;

async fn fetch(number: u32, log: Log) -> u32 {
    let mut log = log.lock().await;
    sleep(Duration::from_millis(5)).await;
    log.push(number);
    number
}

async fn crawl(log: Log) {
    let mut pages: FuturesUnordered<_> = (0..3).map(|number| fetch(number, log.clone())).collect();
    let mut is_first = true;
    while let Some(number) = pages.next().await {
        if is_first {
            println!("ready");
        }
        is_first = false;
        log.lock().await.push(number);
    }
}

/// The fixed one takes the lock only when no future is left that may want it.
async fn crawl_then_log(log: Log) {
    loop {
        let pages: FuturesUnordered<_> = (0..3).map(|number| fetch(number, log.clone())).collect();
        let numbers: Vec<u32> = pages.collect().await;
        log.lock().await.extend(numbers);
        println!("tick");
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        tokio::spawn(crawl(Log::default())).await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        tokio::spawn(crawl_then_log(Log::default())).await.unwrap();
    });
}
