//! A filter of system calls that a program installs for itself, while the monitors of its runtimes
//! rest. From then on no alarm can be set to wake them; so who wakes up does.
//!
//! A single test, since the filter is the process's.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod support;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use support::{Flag, multi_thread, seccomp};
use wakeful::runtime::Runtime;

/// The only worker blocks until a task behind has run.
fn block_before_a_task(runtime: &Runtime) {
    let flag = Flag::default();
    let waits = flag.clone();
    let blocks = runtime.spawn(async move {
        wakeful::spawn(async move { flag.set() });
        waits.block();
    });
    runtime.block_on(blocks).unwrap();
}

fn run_runtimes() {
    let [goes_on, ends] = [multi_thread(1), multi_thread(1)];
    for runtime in [&goes_on, &ends] {
        block_before_a_task(runtime);
    }
    // They look every 2 ms, and rest when all sleep.
    thread::sleep(Duration::from_millis(300));
    seccomp::forbid(libc::SYS_timerfd_settime, libc::EPERM);
    for pause_ms in [0, 1, 5, 20, 100] {
        for _ in 0..5 {
            block_before_a_task(&goes_on);
            thread::sleep(Duration::from_millis(pause_ms));
        }
    }
    drop(goes_on);
    // Nothing has been refused to that one yet.
    drop(ends);
}

#[test]
fn monitors_that_rest_are_woken_once_the_kernel_refuses_to_help() {
    // Elsewhere, since a runtime whose monitor does not end would hang the test, even in a panic.
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        run_runtimes();
        done.send(()).unwrap();
    });
    is_done.recv_timeout(Duration::from_secs(30)).expect("tasks run, and the monitors end");
}
