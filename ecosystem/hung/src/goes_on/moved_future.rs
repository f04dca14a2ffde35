//! A task polls a future for some time, spawns it, and then wants the lock that the future holds.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::end_of_input;

/// Locks the account, and adds to it later.
async fn deposit(account: Arc<Mutex<i64>>) {
    let mut account = account.lock().await;
    end_of_input().await;
    *account += 1;
}

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let owner = tokio::spawn(async {
            let account = Arc::new(Mutex::new(0));
            let mut slow = Box::pin(deposit(account.clone()));
            let limited = pin!(timeout(Duration::from_millis(10), &mut slow));
            assert!(limited.await.is_err());
            tokio::spawn(slow);
            println!("ready");
            *account.lock().await
        });
        assert_eq!(owner.await.unwrap(), 1);
        println!("done");
    });
}
