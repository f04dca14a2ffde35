//! Panics: their messages, and where they are reported.

use super::probes::*;
use std::rc::Rc;
use std::sync::mpsc;
use std::thread;
use wakeful::runtime::{LocalRuntime, UnhandledPanic};
use wakeful::task::{self, LocalSet, spawn_local};

fn assert_outside(f: impl FnOnce()) {
    let (text, file) = panic_of(f);
    let begin =
        "`spawn_local` called from outside of a `task::LocalSet` or `runtime::LocalRuntime`: ";
    assert!(text.starts_with(begin), "{text}");
    assert!(text.contains("`LocalSet::run_until`") && text.contains("`LocalSet::enter`"));
    assert_eq!(file, file!());
}

#[test]
fn spawn_local_outside_a_runtime_panics() {
    let _not_entered = LocalSet::new();
    assert_outside(|| drop(spawn_local(async {})));
}

#[test]
fn spawn_local_in_an_ordinary_runtime_panics() {
    for runtime in [current_thread(), multi_thread()] {
        assert_outside(|| runtime.block_on(async { drop(spawn_local(async {})) }));
        // A task spawned on the runtime is not inside the set of its spawner.
        LocalSet::new().block_on(&runtime, async {
            let join = task::spawn(async { assert_outside(|| drop(spawn_local(async {}))) });
            join.await.unwrap();
        });
    }
}

#[test]
fn spawn_local_on_another_thread_panics() {
    let local = LocalSet::new();
    let _inside = local.enter();
    thread::spawn(|| assert_outside(|| drop(spawn_local(async {})))).join().unwrap();
}

#[test]
fn spawn_local_on_the_local_runtime_of_another_thread_panics() {
    let (to_us, from_there) = mpsc::channel();
    let (done, is_done) = mpsc::channel::<()>();
    let there = thread::spawn(move || {
        let runtime = LocalRuntime::new().unwrap();
        to_us.send(runtime.handle().clone()).unwrap();
        let _ = is_done.recv();
    });
    let handle = from_there.recv().unwrap();
    {
        let local = LocalSet::new();
        let _in_set = local.enter();
        let _in_runtime = handle.enter();
        let (text, file) = panic_of(|| drop(spawn_local(async {})));
        let words = "Local tasks can only be spawned on a LocalRuntime from the thread the runtime \
                     was created on";
        assert!(text.contains(words) && text.contains("`Handle::spawn`"), "{text}");
        assert_eq!(file, file!());
    }
    drop(done);
    there.join().unwrap();
}

#[test]
fn a_tasks_panic_is_returned_by_its_join_handle_only() {
    let local = LocalSet::new();
    let count = Count::default();
    let for_task = count.clone();
    let panics = local.spawn_local(async { panic!("boom") });
    local.spawn_local(async move { add_one(&for_task) });
    let error = local.block_on(&current_thread(), panics).unwrap_err();
    assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "boom");
    assert_eq!(count.get(), 1);
}

#[test]
fn a_panic_in_run_until_leaves_the_set_usable() {
    let runtime = current_thread();
    let local = LocalSet::new();
    let (text, _) = panic_of(|| {
        local.block_on(&runtime, async {
            spawn_local(task::yield_now());
            panic!("boom");
        })
    });
    assert_eq!(text, "boom");
    assert_outside(|| drop(spawn_local(async {})));
    let join = local.spawn_local(async { 1 });
    assert_eq!(local.block_on(&runtime, join).unwrap(), 1);
    runtime.block_on(local);
}

#[test]
fn a_set_shut_down_by_a_panic_drops_its_tasks_and_panics() {
    let runtime = current_thread();
    let drops = Drops::default();
    let mut local = LocalSet::new();
    local.unhandled_panic(UnhandledPanic::ShutdownRuntime);
    let waiting = {
        let probe = drops.probe();
        local.spawn_local(async move {
            let _probe = probe;
            std::future::pending::<()>().await;
        })
    };
    local.spawn_local(async { panic!("boom") });
    let queued = {
        let probe = drops.probe();
        local.spawn_local(async move { drop(probe) })
    };
    let driver = || runtime.block_on(local.run_until(std::future::pending::<()>()));
    let words = "a spawned task panicked and the LocalSet is configured to shutdown";
    assert!(panic_of(driver).0.contains(words));
    assert_eq!(drops.count(), 2);
    assert!(waiting.is_finished() && queued.is_finished());
    assert!(panic_of(driver).0.contains(words), "the set stays unusable");
    assert!(local.spawn_local(async {}).is_finished(), "new tasks are cancelled");
}

#[test]
fn a_running_task_is_dropped_after_its_poll_if_the_set_ends() {
    for turns_before in [0, 1] {
        let mut local = LocalSet::new();
        local.unhandled_panic(UnhandledPanic::ShutdownRuntime);
        let (local, drops) = (Rc::new(local), Drops::default());
        let (inner, probe, for_task) = (local.clone(), drops.probe(), drops.clone());
        local.spawn_local(async move {
            let _probe = probe;
            turns(turns_before).await;
            spawn_local(async { panic!("boom") });
            let (_, waker) = WakeCount::new();
            let mut run = Box::pin(inner.run_until(std::future::pending::<()>()));
            let (text, _) = panic_of(|| assert!(poll(run.as_mut(), &waker).is_pending()));
            assert!(text.contains("a spawned task panicked"));
            assert_eq!(for_task.count(), 1, "the other task is dropped, but not the running one");
            std::future::pending::<()>().await;
        });
        let probe = drops.probe();
        local.spawn_local(async move {
            let _probe = probe;
            std::future::pending::<()>().await;
        });
        let (text, _) =
            panic_of(|| local.block_on(&current_thread(), std::future::pending::<()>()));
        assert!(text.contains("a spawned task panicked"));
        assert_eq!(drops.count(), 2);
        assert_eq!(Rc::strong_count(&local), 1);
    }
}
