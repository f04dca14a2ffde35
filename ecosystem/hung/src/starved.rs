//! A task whose awaits are all ready at once never gives its thread back; on a current-thread
//! runtime the other task gets no turn.

use std::future;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::yield_now;
use tokio::time::sleep;

/// Reads a block from memory: there is nothing to wait for.
async fn read(block: u64) -> u64 {
    future::ready(block.wrapping_mul(0x9E37_79B9_7F4A_7C15)).await
}

async fn checksum() -> u64 {
    println!("ready");
    let (mut sum, mut block) = (0, 1);
    while block != 0 {
        sum ^= read(block).await;
        block += 1;
    }
    sum
}

/// The fixed one gives its thread back after each millisecond.
async fn considerate_checksum() -> u64 {
    let (mut sum, mut block, mut since) = (0, 1, Instant::now());
    while block != 0 {
        sum ^= read(block).await;
        block += 1;
        if since.elapsed() > Duration::from_millis(1) {
            yield_now().await;
            since = Instant::now();
        }
    }
    sum
}

async fn heartbeat() {
    loop {
        println!("tick");
        sleep(Duration::from_millis(10)).await;
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        let sum = tokio::spawn(checksum());
        tokio::spawn(heartbeat());
        println!("{}", sum.await.unwrap());
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        let sum = tokio::spawn(considerate_checksum());
        tokio::spawn(heartbeat());
        println!("{}", sum.await.unwrap());
    });
}
