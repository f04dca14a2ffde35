//! `task::Builder`: its tasks behave like any others.

mod support;

use std::rc::Rc;
use std::sync::{Arc, Mutex};
use support::{current_thread, each_flavor, multi_thread};
use wakeful::runtime::{self, LocalRuntime};
use wakeful::task::{Builder, JoinSet, LocalSet};

#[test]
fn spawns_futures_and_closures_with_a_name_or_without() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let unnamed = Builder::new();
            let named = unnamed.name("worker");
            assert_eq!(named.spawn(async { 1 }).unwrap().await.unwrap(), 1);
            assert_eq!(unnamed.spawn(async { 2 }).unwrap().await.unwrap(), 2);
            let named = Builder::new().name("reader");
            assert_eq!(named.spawn_blocking(|| 3).unwrap().await.unwrap(), 3);
        });
    }
}

#[test]
fn spawns_onto_another_runtime() {
    let there = multi_thread(2);
    let future = Builder::new().name("there").spawn_on(async { 1 }, there.handle()).unwrap();
    let closure = Builder::new().spawn_blocking_on(|| 2, there.handle()).unwrap();
    let sum = current_thread().block_on(async { future.await.unwrap() + closure.await.unwrap() });
    assert_eq!(sum, 3);
}

#[test]
fn spawns_local_futures() {
    let spawned_here = || {
        let number = Rc::new(1);
        Builder::new().name("local").spawn_local(async move { number }).unwrap()
    };
    let local = LocalSet::new();
    let number = Rc::new(2);
    let on_set = Builder::new().spawn_local_on(async move { number }, &local).unwrap();
    let sum = current_thread().block_on(local.run_until(async {
        let here = spawned_here();
        *here.await.unwrap() + *on_set.await.unwrap()
    }));
    assert_eq!(sum, 3);
    let number = LocalRuntime::new().unwrap().block_on(async { spawned_here().await.unwrap() });
    assert_eq!(*number, 1);
}

#[test]
#[should_panic(expected = "from outside of a `task::LocalSet` or `runtime::LocalRuntime`")]
fn spawning_a_local_future_needs_a_local_set_or_runtime() {
    current_thread().block_on(async {
        let _ = Builder::new().spawn_local(async {});
    });
}

#[test]
fn shows_the_name() {
    assert_eq!(format!("{:?}", Builder::new().name("me")), r#"Builder { name: Some("me") }"#);
    assert_eq!(format!("{:?}", Builder::default()), "Builder { name: None }");
}

#[test]
fn a_closure_for_a_runtime_that_has_shut_down_is_an_error() {
    let runtime = multi_thread(2);
    let handle = runtime.handle().clone();
    drop(runtime);
    let error = Builder::new().spawn_blocking_on(|| (), &handle).unwrap_err();
    assert!(error.to_string().contains("shut down"), "{error}");
    let mut set = JoinSet::new();
    assert!(set.build_task().spawn_blocking_on(|| (), &handle).is_err());
    assert!(set.is_empty());
    // A future does not return an error: it is a task that was cancelled, as with `Handle::spawn`.
    let task = Builder::new().spawn_on(async {}, &handle).unwrap();
    assert!(current_thread().block_on(task).unwrap_err().is_cancelled());
}

#[test]
#[should_panic(expected = "there is no runtime on this thread")]
fn spawning_outside_a_runtime_panics() {
    let _ = Builder::new().spawn(async {});
}

#[test]
#[should_panic(expected = "`task::Builder::spawn_blocking` called, but there is no runtime")]
fn spawning_a_closure_outside_a_runtime_panics() {
    let _ = Builder::new().spawn_blocking(|| ());
}

#[test]
fn tasks_remember_where_they_were_spawned() {
    let places = Arc::new(Mutex::new(Vec::new()));
    let noted = places.clone();
    let runtime = runtime::Builder::new_current_thread()
        .on_task_spawn(move |task| {
            let place = task.spawned_at();
            noted.lock().unwrap().push((place.file(), place.line()));
        })
        .build_local(Default::default())
        .unwrap();
    let first_line = line!();
    runtime.block_on(async {
        let mut set = JoinSet::new();
        Builder::new().spawn(async {}).unwrap();
        Builder::new().spawn_on(async {}, runtime.handle()).unwrap();
        Builder::new().spawn_local(async {}).unwrap();
        set.spawn(async {});
        set.spawn_on(async {}, runtime.handle());
        set.spawn_local(async {});
        set.build_task().spawn(async {}).unwrap();
        set.build_task().spawn_local(async {}).unwrap();
        set.build_task().spawn_on(async {}, runtime.handle()).unwrap();
        set.join_all().await;
    });
    let expected: Vec<_> = (first_line + 3..first_line + 12).map(|line| (file!(), line)).collect();
    assert_eq!(*places.lock().unwrap(), expected);
}
