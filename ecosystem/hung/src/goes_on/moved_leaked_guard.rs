//! As `moved_guard`, with a mutex that is leaked: nothing tells its address from that of others.

use tokio::runtime::Runtime;
use tokio::sync::{Mutex, MutexGuard, oneshot};

use super::end_of_input;

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let account: &'static Mutex<i64> = Box::leak(Box::new(Mutex::new(0)));
        let (give, take) = oneshot::channel::<MutexGuard<_>>();
        tokio::spawn(async {
            let mut account = take.await.unwrap();
            end_of_input().await;
            *account += 1;
        });
        let owner = tokio::spawn(async {
            assert!(give.send(account.lock().await).is_ok());
            println!("ready");
            *account.lock().await
        });
        assert_eq!(owner.await.unwrap(), 1);
        println!("done");
    });
}
