//! A program whose runtimes are shut down again and again, until its standard input ends.

use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::yield_now;
use tokio::time::sleep;

use crate::dumped::Rounds;

pub fn run(builder: &mut Builder) {
    // The console is there from the first runtime on.
    drop(builder.build().unwrap());
    let rounds = Rounds::start();
    while rounds.go_on() {
        let runtime = builder.build().unwrap();
        for _ in 0..50 {
            runtime.spawn(async { sleep(Duration::from_secs(3600)).await });
        }
        runtime.block_on(yield_now());
        drop(runtime);
    }
    println!("done");
}
