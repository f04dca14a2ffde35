//! A sandbox takes away what the hand-off needs. The runtime says so once, and runs without it.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod support;

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use support::net::is_child;
use support::{multi_thread, seccomp};
use wakeful::runtime::{Builder, Runtime};

/// Runs the test `name` in a process of its own, to which a system call filter applies. Asserts
/// that the process prints one line about the hand-off, which gives the reason `why`.
#[track_caller]
fn assert_child_prints(name: &str, why: &str) {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("WAKEFUL_CHILD", name)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let stderr = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{stderr}");
    let lines: Vec<_> = stderr.lines().filter(|line| line.contains("hand-off is off")).collect();
    assert_eq!(lines.len(), 1, "{stderr}");
    assert!(lines[0].starts_with("wakeful: ") && lines[0].contains(why), "{stderr}");
}

/// Blocks both workers for a while, twice, so that the monitor tries to inspect them.
fn block_workers(runtime: &Runtime) {
    for _ in 0..2 {
        let blocks = || async { thread::sleep(Duration::from_millis(50)) };
        let tasks = [runtime.spawn(blocks()), runtime.spawn(blocks())];
        for task in tasks {
            runtime.block_on(task).unwrap();
        }
    }
}

#[test]
fn a_refused_membarrier_is_printed_once() {
    if !is_child() {
        return assert_child_prints("a_refused_membarrier_is_printed_once", "`membarrier`");
    }
    let runtime = multi_thread(2);
    block_workers(&runtime);
    seccomp::forbid(libc::SYS_membarrier, libc::EPERM);
    block_workers(&runtime);
}

#[test]
fn a_monitor_that_cannot_be_started_is_printed_once() {
    if !is_child() {
        let why = "the monitor's thread cannot be started";
        return assert_child_prints("a_monitor_that_cannot_be_started_is_printed_once", why);
    }
    let mut builder = Builder::new_multi_thread();
    // The monitor is started when the idle workers' first wait ends.
    builder.worker_threads(2).stall_after(Duration::from_millis(500));
    let runtime = builder.build().unwrap();
    // The C library tries the second call only if the first one does not exist.
    seccomp::forbid(libc::SYS_clone3, libc::ENOSYS);
    seccomp::forbid(libc::SYS_clone, libc::EAGAIN);
    thread::sleep(Duration::from_millis(1000));
    block_workers(&runtime);
}
