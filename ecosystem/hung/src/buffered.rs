//! A buffered stream is not polled while the body of its `for_each` waits for a lock that one of
//! the buffered futures has been given.
//!
//! polybdenum's "Fixing the Next Thousand Deadlocks" counts four outages by this; jacko.io calls
//! such a future snoozed.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::time::sleep;

static CONNECTION: Mutex<u32> = Mutex::const_new(0);

async fn query() -> u32 {
    let mut connection = CONNECTION.lock().await;
    sleep(Duration::from_millis(5)).await;
    *connection += 1;
    *connection
}

async fn report() {
    let answers = stream::iter([query(), query(), query()]).buffered(2);
    answers
        .for_each(|_| async {
            println!("ready");
            query().await;
        })
        .await;
}

/// The fixed one has the answers before it asks again.
async fn report_after_all() {
    loop {
        let answers = stream::iter([query(), query(), query()]).buffered(2);
        for _ in answers.collect::<Vec<_>>().await {
            query().await;
        }
        println!("tick");
    }
}

pub fn hung(runtime: Runtime) {
    runtime.block_on(async {
        tokio::spawn(report()).await.unwrap();
    });
}

pub fn healthy(runtime: Runtime) {
    runtime.block_on(async {
        println!("ready");
        tokio::spawn(report_after_all()).await.unwrap();
    });
}
