//! A task gives the read guard of a `static` lock away, and then wants to write.

use tokio::runtime::Runtime;
use tokio::sync::{RwLock, oneshot};

use super::end_of_input;

static CONFIG: RwLock<i64> = RwLock::const_new(0);

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let (give, take) = oneshot::channel();
        tokio::spawn(async {
            let config = take.await.unwrap();
            end_of_input().await;
            drop(config);
        });
        let owner = tokio::spawn(async {
            assert!(give.send(CONFIG.read().await).is_ok());
            println!("ready");
            *CONFIG.write().await += 1;
        });
        owner.await.unwrap();
        println!("done");
    });
}
