//! A program that listens for SIGQUIT itself.

use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};

pub fn run(runtime: Runtime) {
    runtime.block_on(async {
        let mut quit = signal(SignalKind::quit()).unwrap();
        println!("ready");
        loop {
            quit.recv().await.unwrap();
            println!("tick");
        }
    });
}
