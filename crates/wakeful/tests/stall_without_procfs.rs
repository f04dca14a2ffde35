//! A sandbox refuses to open files, so that `/proc` does not say which threads compute. Their
//! number is bounded nevertheless, by their CPU clocks.
//!
//! There is a single test, because the filter applies to the whole process.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod support;

use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use support::{multi_thread, seccomp};

#[test]
fn computing_threads_are_bounded_and_blocking_ones_are_not() {
    let runtime = multi_thread(2);
    runtime.block_on(runtime.spawn(async {})).unwrap();
    seccomp::forbid(libc::SYS_openat, libc::EPERM);
    assert!(std::fs::read("/proc/self/stat").is_err());
    let computes = || async {
        let until = Instant::now() + Duration::from_millis(100);
        while Instant::now() < until {
            std::hint::spin_loop();
        }
    };
    let tasks: Vec<_> = (0..60).map(|_| runtime.spawn(computes())).collect();
    let mut threads_max = 0;
    for task in tasks {
        runtime.block_on(task).unwrap();
        threads_max = threads_max.max(runtime.metrics().num_blocking_threads());
    }
    // Four detached threads per CPU, and what one look may add before the next one counts them.
    // Without `/proc`, a thread whose clock has stood still for 100 ms counts as blocked. Beside
    // other busy processes, some threads wait as long for a CPU.
    let starved_max = 8;
    let allowed = 4 * thread::available_parallelism().unwrap().get() + 4 + starved_max;
    assert!(threads_max <= allowed, "{threads_max} threads compute; {allowed} may");

    let blocking = allowed + 20;
    let all_block = Arc::new(Barrier::new(blocking));
    let tasks: Vec<_> = (0..blocking)
        .map(|_| {
            let all_block = all_block.clone();
            runtime.spawn(async move { all_block.wait() })
        })
        .collect();
    for task in tasks {
        runtime.block_on(task).unwrap();
    }
}
