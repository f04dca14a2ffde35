//! A program installs a seccomp filter while the monitors of its runtimes sleep. When their alarms
//! can no longer be set, a worker that unparks wakes its monitor instead.
//!
//! There is a single test, because the filter applies to the whole process.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod support;

use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use support::{Flag, multi_thread, seccomp};
use wakeful::runtime::Runtime;

/// Blocks the only worker until a task queued behind has run.
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
    let [stays, ends] = [multi_thread(1), multi_thread(1)];
    for runtime in [&stays, &ends] {
        block_before_a_task(runtime);
    }
    // The monitors stop checking when all workers sleep. Wait until they have.
    thread::sleep(Duration::from_millis(300));
    seccomp::forbid(libc::SYS_timerfd_settime, libc::EPERM);
    for pause_ms in [0, 1, 5, 20, 100] {
        for _ in 0..5 {
            block_before_a_task(&stays);
            thread::sleep(Duration::from_millis(pause_ms));
        }
    }
    drop(stays);
    // This runtime's monitor has not seen a failed call yet.
    drop(ends);
}

#[test]
fn sleeping_monitors_are_woken_once_timerfds_fail() {
    // On another thread, because a monitor that does not exit would hang the test, even during a
    // panic.
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        run_runtimes();
        done.send(()).unwrap();
    });
    is_done
        .recv_timeout(Duration::from_secs(30))
        .expect("a task did not run, or a monitor did not exit");
}
