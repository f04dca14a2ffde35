//! Two runtimes in one process, each with a deadlock of its own.

use std::thread;

use tokio::runtime::{Builder, Runtime};

use crate::relock;

pub fn run(runtime: Runtime) {
    let other = Builder::new_current_thread().enable_all().build().unwrap();
    let thread = thread::spawn(|| relock::hung(other));
    relock::hung(runtime);
    thread.join().unwrap();
}
