//! A task waits for the end of another one, which waits for nothing, and then aborts it.

use std::future::pending;

use tokio::runtime::Runtime;

use super::end_of_input;

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let owner = tokio::spawn(async {
            let mut idle = tokio::spawn(pending::<()>());
            println!("ready");
            tokio::select! {
                _ = &mut idle => unreachable!("it waits for nothing"),
                () = end_of_input() => idle.abort(),
            }
            assert!(idle.await.unwrap_err().is_cancelled());
        });
        owner.await.unwrap();
        println!("done");
    });
}
