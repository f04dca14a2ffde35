//! When a runtime gets its monitor, as the threads of the process show.
#![cfg(target_os = "linux")]

mod support;

use std::fs;
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::time::Duration;
use support::eventually;
use wakeful::runtime::{Builder, Runtime};

/// All tests count the same threads.
static ALONE: Mutex<()> = Mutex::new(());

const NEVER: Duration = Duration::from_secs(600);

fn two_workers(stall_after: Duration) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().stall_after(stall_after).build().unwrap()
}

fn monitors() -> usize {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    let names = threads.filter_map(|thread| {
        // One that ends meanwhile has no name.
        fs::read_to_string(thread.unwrap().path().join("comm")).ok()
    });
    names.filter(|name| name.trim() == "wakeful-monitor").count()
}

/// The kernel lists a thread for a moment after it was joined.
#[track_caller]
fn wait_until_none_is_left() {
    eventually("no monitor is left", || monitors() == 0);
}

fn wait_until_both_sleep(runtime: &Runtime) {
    let metrics = runtime.metrics();
    eventually("both workers sleep", || (0..2).all(|worker| metrics.worker_park_count(worker) > 0));
}

#[test]
fn a_runtime_with_little_to_do_has_none_at_first() {
    let _alone = ALONE.lock();
    let runtime = two_workers(NEVER);
    wait_until_both_sleep(&runtime);
    runtime.block_on(runtime.spawn(async {})).unwrap();
    assert_eq!(monitors(), 0);
}

#[test]
fn it_is_there_once_all_workers_have_something_to_do() {
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
    wait_until_none_is_left();
}

#[test]
fn it_is_there_after_a_while_whatever_there_is_to_do() {
    let _alone = ALONE.lock();
    let runtime = two_workers(Duration::from_millis(1));
    eventually("there is a monitor", || monitors() == 1);
    wait_until_both_sleep(&runtime);
    let metrics = runtime.metrics();
    for worker in 0..2 {
        assert_eq!(metrics.worker_park_unpark_count(worker), 1, "they sleep on meanwhile");
    }
    drop(runtime);
    wait_until_none_is_left();
}

#[test]
fn who_wants_to_know_of_stalls_has_it_from_the_first() {
    let _alone = ALONE.lock();
    let mut builder = Builder::new_multi_thread();
    let runtime = builder.worker_threads(2).stall_after(NEVER).on_stall(|_| ()).build().unwrap();
    eventually("there is a monitor", || monitors() == 1);
    drop(runtime);
    wait_until_none_is_left();
}

#[test]
fn so_has_who_calls_hooks() {
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
        wait_until_none_is_left();
    }
}

#[test]
fn a_thread_that_does_not_get_through_its_start_keeps_no_runtime_from_having_one() {
    let _alone = ALONE.lock();
    let (release, released) = mpsc::channel::<()>();
    let first = Mutex::new(Some(released));
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).stall_after(Duration::from_millis(1));
    let runtime = builder
        .on_thread_start(move || {
            let waits_for = first.lock().unwrap().take();
            if let Some(released) = waits_for {
                let _its_end = released.recv();
            }
        })
        .build()
        .unwrap();
    let (tell, told) = mpsc::channel();
    let stuck = runtime.spawn(async move { told.recv() });
    runtime.spawn(async move { tell.send(()) });
    assert_eq!(runtime.block_on(stuck).unwrap(), Ok(()));
    drop(release);
    drop(runtime);
    wait_until_none_is_left();
}
