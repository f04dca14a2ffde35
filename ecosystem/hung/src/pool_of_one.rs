//! A job of the blocking pool waits for another job, and the pool has no thread left for it.
//!
//! Tokio issue 5889; graph-node pull request 2354 hit the limit of 512 threads this way.

use std::thread;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::task::spawn_blocking;

/// Reads a file in small parts, each of which is a job of its own.
fn read_all() -> usize {
    println!("ready");
    Handle::current().block_on(async { spawn_blocking(|| read_part(1)).await.unwrap() })
}

fn read_part(bytes: usize) -> usize {
    thread::sleep(Duration::from_millis(5));
    bytes
}

pub fn hung(builder: &mut Builder) {
    let runtime = builder.max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        println!("{}", spawn_blocking(read_all).await.unwrap());
    });
}

/// The pool is as small, but no job waits for another.
pub fn healthy(builder: &mut Builder) {
    let runtime = builder.max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        println!("ready");
        loop {
            let (first, second) =
                (spawn_blocking(|| read_part(1)), spawn_blocking(|| read_part(2)));
            first.await.unwrap();
            second.await.unwrap();
            println!("tick");
        }
    });
}
