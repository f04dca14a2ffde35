//! A waker that panics affects neither its caller nor the threads and tasks of the runtime.

mod support;

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::Duration;
use support::within;
use wakeful::runtime::{Builder, Runtime};
use wakeful::task::{JoinSet, LocalSet};

struct Panics;

impl Wake for Panics {
    fn wake(self: Arc<Self>) {
        panic!("a waker panics");
    }
}

/// Creates a `LocalSet` whose only task is `future`, and polls it once with a waker that panics.
fn set_behind_a_panicking_waker(future: impl Future + 'static) -> LocalSet {
    let mut set = LocalSet::new();
    set.spawn_local(async move { drop(future.await) });
    let waker = Waker::from(Arc::new(Panics));
    assert!(pin!(&mut set).poll(&mut Context::from_waker(&waker)).is_pending());
    set
}

/// Asserts that the runtime still runs tasks, and that its drop returns.
fn assert_usable(runtime: Runtime, set: LocalSet) {
    let later = runtime.spawn(async { 7 });
    assert_eq!(runtime.block_on(later).unwrap(), 7);
    drop(set);
    drop(runtime);
}

fn with_each_multi_thread(test: fn(Runtime)) {
    for hands_off in [true, false] {
        within(Duration::from_secs(20), move || {
            let mut builder = Builder::new_multi_thread();
            builder.worker_threads(1).enable_all();
            if !hands_off {
                builder.disable_stall_handoff();
            }
            test(builder.build().unwrap());
        });
    }
}

#[test]
fn a_task_that_calls_a_panicking_waker_completes_and_others_run() {
    with_each_multi_thread(|runtime| {
        let (end, ended) = wakeful::sync::oneshot::channel::<()>();
        let awaited = runtime.spawn(async move { drop(ended.await) });
        let set = set_behind_a_panicking_waker(awaited);
        end.send(()).unwrap();
        assert_usable(runtime, set);
    });
}

#[test]
fn a_blocking_task_that_calls_a_panicking_waker_completes_and_its_thread_serves_others() {
    with_each_multi_thread(|runtime| {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let awaited = runtime.spawn_blocking(move || ended.recv().is_ok());
        let set = set_behind_a_panicking_waker(awaited);
        end.send(()).unwrap();
        let after = runtime.spawn_blocking(|| 3);
        assert_eq!(runtime.block_on(after).unwrap(), 3);
        assert_usable(runtime, set);
    });
}

#[test]
fn block_on_of_a_current_thread_runtime_survives_a_panicking_waker() {
    within(Duration::from_secs(20), || {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let (end, ended) = wakeful::sync::oneshot::channel::<()>();
        let awaited = runtime.spawn(async move { drop(ended.await) });
        let set = set_behind_a_panicking_waker(awaited);
        end.send(()).unwrap();
        let later = runtime.spawn(async { 7 });
        assert_eq!(runtime.block_on(later).unwrap(), 7);
        assert_usable(runtime, set);
    });
}

#[test]
fn spawning_onto_a_set_with_a_panicking_waker_returns_the_handle() {
    let set = set_behind_a_panicking_waker(pending::<()>());
    let runtime = Builder::new_current_thread().build().unwrap();
    // The first spawn calls the waker.
    let join = set.spawn_local(async { 5 });
    assert_eq!(set.block_on(&runtime, join).unwrap(), 5);
}

#[test]
fn a_join_set_that_is_dropped_aborts_all_of_its_tasks() {
    let alive = Arc::new(());
    let mut set = LocalSet::new();
    let mut tasks = JoinSet::new();
    for _ in 0..4 {
        let alive = alive.clone();
        tasks.spawn_local_on(async move { (pending::<()>().await, alive).0 }, &set);
    }
    // The first abort calls this waker, which panics.
    let waker = Waker::from(Arc::new(Panics));
    assert!(pin!(&mut set).poll(&mut Context::from_waker(&waker)).is_pending());
    assert_eq!(Arc::strong_count(&alive), 5);
    drop(tasks);
    assert!(pin!(&mut set).poll(&mut Context::from_waker(Waker::noop())).is_ready());
    assert_eq!(Arc::strong_count(&alive), 1);
}
