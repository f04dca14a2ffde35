//! A task queues for a lock, and gives the future away that is granted the lock.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{Mutex, oneshot};
use tokio::time::timeout;

use super::end_of_input;

async fn deposit(account: Arc<Mutex<i64>>) {
    *account.lock().await += 1;
}

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let (give, take) = oneshot::channel();
        tokio::spawn(async {
            let deposit = take.await.unwrap();
            end_of_input().await;
            deposit.await;
        });
        let owner = tokio::spawn(async move {
            let account = Arc::new(Mutex::new(0));
            let held = account.lock().await;
            let mut slow = Box::pin(deposit(account.clone()));
            let limited = pin!(timeout(Duration::from_millis(10), &mut slow));
            assert!(limited.await.is_err());
            drop(held);
            assert!(give.send(slow).is_ok());
            println!("ready");
            *account.lock().await
        });
        assert_eq!(owner.await.unwrap(), 1);
        println!("done");
    });
}
