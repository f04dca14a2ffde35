//! All workers are parked at a dump, and are needed after it.
//!
//! Tokio issue 7478: a dump woke parked workers past the scheduler's books. Afterwards only some of
//! them worked, or none, and tasks spawned from outside never ran (Tokio pull request 8372).

use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use tokio::runtime::{Handle, Runtime, RuntimeFlavor};
use tokio::sync::oneshot;
use tokio::task::yield_now;

use super::Rounds;

/// Spawns tasks from this thread, which is outside of the runtime, and waits for them.
fn from_outside(handle: &Handle) {
    let (results, received) = channel();
    for number in 0..1000 {
        let results = results.clone();
        handle.spawn(async move {
            yield_now().await;
            results.send(number).unwrap();
        });
    }
    drop(results);
    assert_eq!(received.iter().sum::<u64>(), 499_500);
}

/// Spawns two tasks that block until both run: that takes both workers.
fn at_once(handle: &Handle) {
    let both_run = Arc::new(Barrier::new(2));
    let (results, received) = channel();
    for _ in 0..2 {
        let (both_run, results) = (both_run.clone(), results.clone());
        handle.spawn(async move {
            both_run.wait();
            results.send(()).unwrap();
        });
    }
    drop(results);
    assert_eq!(received.iter().count(), 2);
}

pub fn run(runtime: Runtime) {
    let handle = runtime.handle().clone();
    let (stop, stopped) = oneshot::channel::<()>();
    let driver = thread::spawn(move || runtime.block_on(stopped));
    let rounds = Rounds::start();
    while rounds.go_on() {
        from_outside(&handle);
        if handle.runtime_flavor() == RuntimeFlavor::MultiThread {
            at_once(&handle);
        }
        // The workers park, and are dumped while they are.
        thread::sleep(Duration::from_millis(30));
    }
    stop.send(()).unwrap();
    driver.join().unwrap().unwrap();
    println!("done");
}
