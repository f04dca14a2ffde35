//! When a runtime starts its monitor thread. The tests list the threads of the process.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;
use support::eventually;
use wakeful::runtime::{Builder, Runtime};

/// Serializes the tests, because they count the threads of one process.
static ALONE: Mutex<()> = Mutex::new(());

const NEVER: Duration = Duration::from_secs(600);

fn two_workers(stall_after: Duration) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().stall_after(stall_after).build().unwrap()
}

fn monitors() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let names = threads.filter_map(|thread| {
        // A thread that has exited meanwhile has no name.
        fs::read_to_string(thread.unwrap().path().join("comm")).ok()
    });
    names.filter(|name| name.trim() == "wakeful-monitor").count()
}

/// Waits until no monitor is listed. The kernel lists a thread for a moment after it was joined.
#[track_caller]
fn wait_until_no_monitor_is_left() {
    eventually("no monitor is left", || monitors() == 0);
}

fn wait_until_both_sleep(runtime: &Runtime) {
    let metrics = runtime.metrics();
    eventually("both workers sleep", || (0..2).all(|worker| metrics.worker_park_count(worker) > 0));
}

#[test]
fn a_mostly_idle_runtime_has_no_monitor_at_first() {
    let _alone = ALONE.lock();
    let runtime = two_workers(NEVER);
    wait_until_both_sleep(&runtime);
    runtime.block_on(runtime.spawn(async {})).unwrap();
    assert_eq!(monitors(), 0);
}

#[test]
fn the_monitor_starts_once_all_workers_are_busy() {
    let _alone = ALONE.lock();
    let runtime = two_workers(NEVER);
    let met = Arc::new(Barrier::new(3));
    for _ in 0..2 {
        let meets = met.clone();
        runtime.spawn(async move {
            meets.wait();
            meets.wait();
        });
    }
    met.wait();
    eventually("there is a monitor", || monitors() == 1);
    met.wait();
    drop(runtime);
    wait_until_no_monitor_is_left();
}

#[test]
fn the_monitor_starts_after_a_while_in_any_case() {
    let _alone = ALONE.lock();
    let runtime = two_workers(Duration::from_millis(1));
    eventually("there is a monitor", || monitors() == 1);
    wait_until_both_sleep(&runtime);
    let metrics = runtime.metrics();
    for worker in 0..2 {
        assert_eq!(metrics.worker_park_unpark_count(worker), 1, "the workers must stay parked");
    }
    drop(runtime);
    wait_until_no_monitor_is_left();
}

#[test]
fn with_on_stall_the_monitor_starts_immediately() {
    let _alone = ALONE.lock();
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).stall_after(NEVER).on_stall(|_| ()).build().unwrap();
    eventually("there is a monitor", || monitors() == 1);
    drop(runtime);
    wait_until_no_monitor_is_left();
}

#[test]
fn with_thread_hooks_the_monitor_starts_immediately() {
    let _alone = ALONE.lock();
    let hooks: [fn(&mut Builder); 3] = [
        |builder| _ = builder.on_thread_start(|| ()),
        |builder| _ = builder.on_thread_park(|| ()),
        |builder| _ = builder.on_thread_unpark(|| ()),
    ];
    for add_hook in hooks {
        let mut builder = Builder::new_multi_thread();
        add_hook(builder.worker_threads(2).stall_after(NEVER));
        let runtime = builder.build().unwrap();
        eventually("there is a monitor", || monitors() == 1);
        drop(runtime);
        wait_until_no_monitor_is_left();
    }
}

#[test]
fn a_thread_that_blocks_in_its_start_does_not_prevent_the_monitor() {
    let _alone = ALONE.lock();
    let (release, released) = mpsc::channel::<()>();
    let first = Mutex::new(Some(released));
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).stall_after(Duration::from_millis(1));
    let runtime = builder
        .on_thread_start(move || {
            let waits_for = first.lock().unwrap().take();
            if let Some(released) = waits_for {
                let _released = released.recv();
            }
        })
        .build()
        .unwrap();
    let (sender, receiver) = mpsc::channel();
    let stuck = runtime.spawn(async move { receiver.recv() });
    runtime.spawn(async move { sender.send(()) });
    assert_eq!(runtime.block_on(stuck).unwrap(), Ok(()));
    drop(release);
    drop(runtime);
    wait_until_no_monitor_is_left();
}
