//! `Handle::block_on` does not drive a current-thread runtime, and nothing else does here.
//!
//! adbc_clickhouse issue 25 and Tokio issue 7441 (`SyncIoBridge`) are this.

use std::thread;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::time::sleep;

async fn query() -> u64 {
    sleep(Duration::from_millis(10)).await;
    42
}

pub fn hung(runtime: Runtime) {
    let handle = runtime.handle().clone();
    let answer = handle.spawn(query());
    println!("ready");
    println!("{}", handle.block_on(answer).unwrap());
}

/// The fixed one has a thread that drives the runtime.
pub fn healthy(runtime: Runtime) {
    let handle = runtime.handle().clone();
    thread::spawn(move || runtime.block_on(std::future::pending::<()>()));
    println!("ready");
    loop {
        let answer = handle.spawn(query());
        handle.block_on(answer).unwrap();
        println!("tick");
    }
}
