//! A task begins to initialize a cell, spawns the future that does it, and wants the value.

use std::pin::pin;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::OnceCell;
use tokio::time::timeout;

use super::end_of_input;

static NUMBER: OnceCell<i64> = OnceCell::const_new();

async fn initialize() -> i64 {
    end_of_input().await;
    1
}

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let owner = tokio::spawn(async {
            let mut slow = Box::pin(NUMBER.get_or_init(initialize));
            let limited = pin!(timeout(Duration::from_millis(10), &mut slow));
            assert!(limited.await.is_err());
            tokio::spawn(slow);
            println!("ready");
            *NUMBER.get_or_init(initialize).await
        });
        assert_eq!(owner.await.unwrap(), 1);
        println!("done");
    });
}
