//! A task gives the write guard of a `static` lock away, and then wants to read.

use tokio::runtime::Runtime;
use tokio::sync::{RwLock, RwLockWriteGuard, oneshot};

use super::end_of_input;

static CONFIG: RwLock<i64> = RwLock::const_new(0);

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let (give, take) = oneshot::channel::<RwLockWriteGuard<_>>();
        tokio::spawn(async {
            let mut config = take.await.unwrap();
            end_of_input().await;
            *config += 1;
        });
        let owner = tokio::spawn(async {
            assert!(give.send(CONFIG.write().await).is_ok());
            println!("ready");
            *CONFIG.read().await
        });
        assert_eq!(owner.await.unwrap(), 1);
        println!("done");
    });
}
