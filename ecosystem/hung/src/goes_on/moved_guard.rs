//! A task gives the guard of a `static` mutex away, and locks the mutex again.

use tokio::runtime::Runtime;
use tokio::sync::{Mutex, MutexGuard, oneshot};

use super::end_of_input;

static ACCOUNT: Mutex<i64> = Mutex::const_new(0);

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let (give, take) = oneshot::channel::<MutexGuard<_>>();
        tokio::spawn(async {
            let mut account = take.await.unwrap();
            end_of_input().await;
            *account += 1;
        });
        let owner = tokio::spawn(async {
            assert!(give.send(ACCOUNT.lock().await).is_ok());
            println!("ready");
            *ACCOUNT.lock().await
        });
        assert_eq!(owner.await.unwrap(), 1);
        println!("done");
    });
}
