//! Panic messages name the call, what is missing and what to do. Their location is the caller's.

mod support;

use std::panic::AssertUnwindSafe;
use support::{current_thread, multi_thread, panic_of};
use wakeful::runtime::{Builder, Handle, LocalOptions};
use wakeful::task;

/// Returns the message of the panic of `f`, whose location must be in this file.
#[track_caller]
fn text_of(f: impl FnOnce()) -> String {
    let (text, file) = panic_of(AssertUnwindSafe(f));
    assert_eq!(file, file!(), "the location of the panic is not in this file: {text}");
    text
}

#[track_caller]
fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

#[test]
fn outside_a_runtime() {
    let text = text_of(|| drop(wakeful::spawn(async {})));
    assert_has(&text, &["`spawn` called", "no runtime on this thread", "Runtime::enter"]);
    let text = text_of(|| drop(task::spawn_blocking(|| ())));
    assert_has(&text, &["`spawn_blocking` called", "no runtime on this thread"]);
    let text = text_of(|| drop(Handle::current()));
    assert_has(&text, &["`Handle::current` called", "no runtime on this thread"]);
    let error = Handle::try_current().unwrap_err();
    assert!(error.is_missing_context() && !error.is_thread_local_destroyed());
}

#[test]
fn a_runtime_inside_a_runtime() {
    let (outer, inner) = (current_thread(), current_thread());
    let text = outer.block_on(async { text_of(|| inner.block_on(async {})) });
    assert_has(&text, &["`Runtime::block_on` called", "`.await`", "spawn_blocking"]);
    let text = outer.block_on(async { text_of(|| outer.handle().block_on(async {})) });
    assert_has(&text, &["`Handle::block_on` called", "`.await`"]);
}

#[test]
fn a_runtime_dropped_where_blocking_is_not_allowed() {
    let outer = current_thread();
    let inner = multi_thread(1);
    let (text, _) = outer.block_on(async { panic_of(AssertUnwindSafe(|| drop(inner))) });
    assert_has(&text, &["Cannot drop a runtime", "shutdown_background", "spawn_blocking"]);
}

#[test]
fn block_in_place_where_tasks_cannot_move() {
    let runtime = current_thread();
    let text = runtime.block_on(async { text_of(|| task::block_in_place(|| ())) });
    assert_has(&text, &["`block_in_place` called", "current-thread", "spawn_blocking"]);
}

#[test]
fn an_id_outside_a_task() {
    let text = text_of(|| println!("{}", task::id()));
    assert_has(&text, &["`task::id()` called outside of a task", "try_id"]);
}

#[test]
fn builder_arguments_out_of_range() {
    let mut many = Builder::new_multi_thread();
    assert_has(
        &text_of(|| {
            many.worker_threads(0);
        }),
        &["worker_threads", "0"],
    );
    assert_has(
        &text_of(|| {
            many.max_blocking_threads(0);
        }),
        &["max_blocking_threads"],
    );
    assert_has(
        &text_of(|| {
            many.event_interval(0);
        }),
        &["event_interval"],
    );
    assert_has(
        &text_of(|| {
            many.global_queue_interval(0);
        }),
        &["global_queue_interval"],
    );
    assert_has(
        &text_of(|| {
            many.name(" ");
        }),
        &["name", "empty"],
    );
    let text = text_of(|| drop(many.build_local(LocalOptions::default())));
    assert_has(&text, &["build_local", "new_current_thread"]);
}

#[test]
fn guards_dropped_out_of_order() {
    let (first, second) = (current_thread(), current_thread());
    let outer = first.enter();
    let inner = second.enter();
    let (text, _) = panic_of(AssertUnwindSafe(|| drop(outer)));
    assert_has(&text, &["EnterGuard", "reverse order"]);
    drop(inner);
}

#[test]
fn an_output_taken_twice() {
    let runtime = current_thread();
    let mut task = runtime.spawn(async {});
    runtime.block_on(&mut task).unwrap();
    let (text, _) = panic_of(AssertUnwindSafe(|| runtime.block_on(&mut task).unwrap()));
    assert_has(&text, &["`JoinHandle` polled after"]);
}

#[test]
fn the_panic_of_a_cancelled_task() {
    let runtime = current_thread();
    let task = runtime.spawn(async {});
    task.abort();
    let error = runtime.block_on(task).unwrap_err();
    let text = text_of(|| drop(error.into_panic()));
    assert_has(&text, &["into_panic", "did not panic", "try_into_panic"]);
}

#[test]
fn metrics_of_a_worker_that_does_not_exist() {
    let metrics = multi_thread(2).metrics();
    assert_has(&text_of(|| println!("{}", metrics.worker_park_count(2))), &["worker 2", "has 2"]);
}
