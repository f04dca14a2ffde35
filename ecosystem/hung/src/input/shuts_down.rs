//! A program whose runtimes are shut down again and again, and which ends at last.

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::yield_now;
use tokio::time::sleep;

pub fn run(builder: &mut Builder) {
    println!("ready");
    for _ in 0..200 {
        let runtime = builder.build().unwrap();
        for _ in 0..50 {
            runtime.spawn(async { sleep(Duration::from_secs(3600)).await });
        }
        runtime.block_on(yield_now());
        drop(runtime);
    }
    println!("done");
}
