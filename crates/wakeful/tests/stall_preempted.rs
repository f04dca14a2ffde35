//! A poll whose thread waits for a CPU, or whose process is stopped, does not stall.
#![cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]

mod support;

use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};
use support::net::is_child;
use wakeful::runtime::{Builder, Runtime};
use wakeful::task::yield_now;

/// Returns the CPU time that this thread has used so far.
fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes to `time`, which lives until the call returns.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    assert_eq!(result, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn compute(time: Duration) {
    let begun = cpu_time();
    while cpu_time() - begun < time {}
}

/// Creates a runtime with many more workers than CPUs.
fn many_workers() -> Runtime {
    let workers = 4 * thread::available_parallelism().unwrap().get();
    Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap()
}

/// Keeps all workers busy with polls that compute for a tenth of `stall_after`. Returns their
/// number.
fn run_short_polls(runtime: &Runtime, time: Duration) -> u64 {
    let until = Instant::now() + time;
    let computes = move || async move {
        let mut polls = 0;
        while Instant::now() < until {
            compute(Duration::from_micros(200));
            polls += 1;
            yield_now().await;
        }
        polls
    };
    let tasks: Vec<_> =
        (0..4 * runtime.metrics().num_workers()).map(|_| runtime.spawn(computes())).collect();
    tasks.into_iter().map(|task| runtime.block_on(task).unwrap()).sum()
}

/// Asserts that at most one poll in fifty counted as a stall: where a hypervisor stops a virtual
/// CPU, the kernel may charge the thread with that time.
#[track_caller]
fn assert_few_stalls(runtime: &Runtime, polls: u64) {
    let metrics = runtime.metrics();
    let (stalls, handoffs) = (metrics.stall_count(), metrics.stall_handoff_count());
    let allowed = 10 + polls / 50;
    assert!(stalls <= allowed, "{stalls} stalls in {polls} polls");
    assert!(handoffs <= allowed, "{handoffs} hand-offs in {polls} polls");
}

#[test]
fn polls_that_wait_for_a_cpu_do_not_stall() {
    let runtime = many_workers();
    let polls = run_short_polls(&runtime, Duration::from_secs(1));
    assert_few_stalls(&runtime, polls);
}

/// Runs the test `name` in a process that is stopped over and over.
fn run_in_stopped_child(name: &str) -> ExitStatus {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture"])
        .env("WAKEFUL_CHILD", name)
        .spawn()
        .unwrap();
    let pid = child.id() as libc::pid_t;
    loop {
        for signal in [libc::SIGSTOP, libc::SIGCONT] {
            thread::sleep(Duration::from_millis(50));
            // SAFETY: the child has not been waited for, so the id is still its own.
            unsafe { libc::kill(pid, signal) };
        }
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
    }
}

#[test]
fn polls_of_a_stopped_process_do_not_stall() {
    if !is_child() {
        let status = run_in_stopped_child("polls_of_a_stopped_process_do_not_stall");
        return assert!(status.success(), "{status}");
    }
    let runtime = many_workers();
    let polls = run_short_polls(&runtime, Duration::from_secs(2));
    assert_few_stalls(&runtime, polls);
}

/// The runtime still finds the poll that blocks among those that wait for a CPU.
#[test]
fn a_poll_that_blocks_among_preempted_ones_is_handed_off() {
    let runtime = many_workers();
    let background = runtime.handle().clone();
    thread::scope(|scope| {
        scope.spawn(|| run_short_polls(&runtime, Duration::from_secs(1)));
        let blocks = background.spawn(async {
            let flag = support::Flag::default();
            let sets = flag.clone();
            wakeful::spawn(async move { sets.set() });
            flag.block();
        });
        background.block_on(blocks).unwrap();
    });
}
