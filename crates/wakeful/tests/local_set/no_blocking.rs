//! `block_in_place` is not allowed in a set.

use super::probes::*;
use std::panic::resume_unwind;
use wakeful::runtime::Runtime;
use wakeful::task::{self, JoinHandle, LocalSet, block_in_place, spawn_local};

async fn join(task: JoinHandle<()>) {
    if let Err(error) = task.await {
        resume_unwind(error.into_panic());
    }
}

fn assert_forbidden(f: impl Fn(&Runtime)) {
    for runtime in [current_thread(), multi_thread()] {
        let (text, file) = panic_of(|| f(&runtime));
        assert!(text.contains("`block_in_place` called on a current-thread runtime or in a"));
        assert_eq!(file, file!());
    }
}

#[test]
fn forbidden_in_the_future_of_run_until() {
    assert_forbidden(|runtime| {
        LocalSet::new().block_on(runtime, async { block_in_place(|| {}) });
    });
}

#[test]
fn forbidden_in_a_task() {
    assert_forbidden(|runtime| {
        let local = LocalSet::new();
        let task = local.spawn_local(async { block_in_place(|| {}) });
        runtime.block_on(async {
            local.await;
            join(task).await;
        });
    });
}

#[test]
fn forbidden_in_the_drop_of_a_task() {
    assert_forbidden(|runtime| {
        runtime.block_on(async {
            let local = LocalSet::new();
            let task = local.spawn_local(async {
                let _on_drop = OnDrop(|| block_in_place(|| {}));
                std::future::pending::<()>().await;
            });
            local.run_until(task::yield_now()).await;
            drop(local);
            join(task).await;
        });
    });
}

#[test]
fn allowed_after_the_set_and_in_tasks_of_the_runtime() {
    multi_thread().block_on(async {
        let local = LocalSet::new();
        local.run_until(async { spawn_local(async {}).await.unwrap() }).await;
        assert_eq!(block_in_place(|| 1), 1);
        local
            .run_until(async {
                let of_runtime = task::spawn(async { block_in_place(|| 2) });
                assert_eq!(of_runtime.await.unwrap(), 2);
            })
            .await;
        local.await;
        assert_eq!(block_in_place(|| 3), 3);
    });
}

#[test]
fn nested_block_on_is_forbidden() {
    let (text, file) = panic_of(|| {
        let runtime = current_thread();
        let local = LocalSet::new();
        runtime.block_on(async { local.block_on(&runtime, async {}) });
    });
    assert!(text.contains("Cannot start a runtime from within a runtime"), "{text}");
    assert_eq!(file, file!());
}
