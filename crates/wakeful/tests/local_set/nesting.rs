//! Nested sets.

use super::probes::*;
use std::rc::Rc;
use wakeful::task::{self, LocalSet, spawn_local};

#[test]
fn spawn_local_goes_to_the_innermost_set() {
    let outer = LocalSet::new();
    let go = Event::default();
    let for_task = go.clone();
    outer.block_on(&current_thread(), async move {
        let outermost = spawn_local(async move {
            let inner = LocalSet::new();
            let mut of_inner = None;
            inner
                .run_until(async { of_inner = Some(spawn_local(std::future::pending::<()>())) })
                .await;
            let of_outer = spawn_local(async move { for_task.wait().await });
            drop(inner);
            assert!(of_inner.unwrap().await.unwrap_err().is_cancelled());
            go.set();
            of_outer.await.expect("the task belongs to the outer set");
        });
        outermost.await.unwrap();
    });
}

#[test]
fn each_level_keeps_its_task_id() {
    LocalSet::new().block_on(&current_thread(), async {
        let join = spawn_local(async {
            let before = task::id();
            let inner = LocalSet::new();
            let of_inner = inner.run_until(async {
                assert_eq!(task::id(), before, "the future is part of the outer task");
                spawn_local(async { task::id() }).await.unwrap()
            });
            assert_ne!(of_inner.await, before);
            assert_eq!(task::id(), before);
        });
        join.await.unwrap();
    });
}

#[test]
fn tasks_of_either_level_wake_those_of_the_other() {
    watched(|| {
        let (up, down) = (Event::default(), Event::default());
        LocalSet::new().block_on(&current_thread(), async {
            let upper = {
                let (up, down) = (up.clone(), down.clone());
                spawn_local(async move {
                    up.wait().await;
                    down.set();
                })
            };
            let nest = spawn_local(async move {
                let inner = LocalSet::new();
                inner.spawn_local(async move {
                    up.set();
                    down.wait().await;
                });
                inner.await;
            });
            upper.await.unwrap();
            nest.await.unwrap();
        });
    });
}

#[test]
fn a_task_may_drive_its_own_set() {
    let local = Rc::new(LocalSet::new());
    let inner = local.clone();
    let sum = local.block_on(&current_thread(), async move {
        let join = spawn_local(async move {
            let parts = [spawn_local(async { 1 }), spawn_local(async { 2 })];
            inner
                .run_until(async {
                    let mut sum = 0;
                    for part in parts {
                        sum += part.await.unwrap();
                    }
                    sum
                })
                .await
        });
        join.await.unwrap()
    });
    assert_eq!(sum, 3);
    assert_eq!(Rc::strong_count(&local), 1);
}

#[test]
fn a_guard_that_outlives_the_poll_it_was_made_in_is_harmless() {
    let runtime = current_thread();
    let [outer, other] = [LocalSet::new(), LocalSet::new()];
    let guard = outer.block_on(&runtime, async { other.enter() });
    // The end of the poll restored the previous state: no set.
    assert!(panic_of(|| drop(spawn_local(async {}))).0.contains("outside"));
    // Dropping the guard restores the set in whose poll it was created.
    drop(guard);
    let join = spawn_local(async { 1 });
    assert_eq!(outer.block_on(&runtime, join).unwrap(), 1);
}
