//! How a set is driven, and when it yields.

use super::probes::*;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::thread;
use wakeful::task::{self, LocalSet, coop, spawn_local};

#[test]
fn awaiting_a_set_runs_all_its_tasks() {
    let count = Count::default();
    let local = LocalSet::new();
    let for_task = count.clone();
    local.spawn_local(async move {
        let for_inner = for_task.clone();
        spawn_local(async move {
            task::yield_now().await;
            add_one(&for_inner);
        });
        task::yield_now().await;
        add_one(&for_task);
    });
    current_thread().block_on(local);
    assert_eq!(count.get(), 2);
}

#[test]
fn a_set_without_tasks_is_ready_at_once() {
    let (_, waker) = WakeCount::new();
    let mut local = LocalSet::new();
    assert!(poll(Pin::new(&mut local), &waker).is_ready());
    // The set can be filled and driven again.
    local.spawn_local(async {});
    assert!(poll(Pin::new(&mut local), &waker).is_ready());
    local.spawn_local(std::future::pending::<()>());
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
}

#[test]
fn tasks_left_by_run_until_continue_in_the_next() {
    let runtime = current_thread();
    let local = LocalSet::new();
    let (first, second) = (Event::default(), Event::default());
    let steps = Count::default();
    {
        let (first, second, steps) = (first.clone(), second.clone(), steps.clone());
        local.spawn_local(async move {
            first.wait().await;
            add_one(&steps);
            second.wait().await;
            add_one(&steps);
        });
    }
    runtime.block_on(local.run_until(task::yield_now()));
    assert_eq!(steps.get(), 0);
    first.set();
    assert_eq!(steps.get(), 0, "the set is not driven");
    local.block_on(&runtime, task::yield_now());
    assert_eq!(steps.get(), 1);
    second.set();
    runtime.block_on(local);
    assert_eq!(steps.get(), 2);
}

#[test]
fn dropping_run_until_keeps_the_tasks() {
    let local = LocalSet::new();
    let go = Event::default();
    let join = {
        let go = go.clone();
        local.spawn_local(async move { go.wait().await })
    };
    let (_, waker) = WakeCount::new();
    {
        let mut run = pin!(local.run_until(std::future::pending::<()>()));
        assert!(poll(run.as_mut(), &waker).is_pending());
    }
    go.set();
    local.block_on(&current_thread(), join).expect("still there");
}

#[test]
fn a_set_can_be_polled_outside_a_runtime() {
    let (wakes, waker) = WakeCount::new();
    let mut local = LocalSet::new();
    let go = Event::default();
    let for_task = go.clone();
    local.spawn_local(async move { for_task.wait().await });
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    go.set();
    assert_eq!(wakes.get(), 1);
    assert!(poll(Pin::new(&mut local), &waker).is_ready());
}

#[test]
fn a_poll_yields_after_61_tasks() {
    let (wakes, waker) = WakeCount::new();
    let ran = Count::default();
    let mut local = LocalSet::new();
    for _ in 0..100 {
        let ran = ran.clone();
        local.spawn_local(async move { add_one(&ran) });
    }
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    assert_eq!((ran.get(), wakes.get()), (61, 1));
    assert!(poll(Pin::new(&mut local), &waker).is_ready());
    assert_eq!((ran.get(), wakes.get()), (100, 1));
}

#[test]
fn run_until_yields_as_well() {
    let (wakes, waker) = WakeCount::new();
    let ran = Count::default();
    let local = LocalSet::new();
    for _ in 0..100 {
        let ran = ran.clone();
        local.spawn_local(async move { add_one(&ran) });
    }
    let mut run = pin!(local.run_until(std::future::pending::<()>()));
    assert!(poll(run.as_mut(), &waker).is_pending());
    assert_eq!((ran.get(), wakes.get()), (61, 1));
    assert!(poll(run.as_mut(), &waker).is_pending());
    assert_eq!((ran.get(), wakes.get()), (100, 1));
}

#[test]
fn tasks_run_in_the_order_they_were_woken() {
    let order = Rc::new(std::cell::RefCell::new(Vec::new()));
    let local = LocalSet::new();
    for n in 0..5 {
        let order = order.clone();
        local.spawn_local(async move {
            order.borrow_mut().push(n);
            turns(1).await;
            order.borrow_mut().push(10 + n);
        });
    }
    current_thread().block_on(local);
    assert_eq!(*order.borrow(), [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]);
}

#[test]
fn busy_tasks_do_not_starve_tasks_woken_by_another_thread() {
    let (_, waker) = WakeCount::new();
    let mut local = LocalSet::new();
    let go = Event::default();
    let for_task = go.clone();
    let join = local.spawn_local(async move { for_task.wait().await });
    local.spawn_local(turns(usize::MAX));
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    thread::spawn(move || go.set()).join().unwrap();
    assert!(!join.is_finished());
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    assert!(join.is_finished());
}

#[test]
fn a_busy_set_does_not_starve_the_runtime() {
    let runtime = current_thread();
    let local = LocalSet::new();
    local.spawn_local(turns(usize::MAX));
    local.spawn_local(async {
        loop {
            task::yield_now().await;
        }
    });
    let others = local.block_on(&runtime, async { task::spawn(turns(1000)).await });
    others.unwrap();
}

#[test]
fn tasks_have_their_own_budget_and_run_until_its_pollers() {
    /// Returns the remaining budget.
    async fn left() -> usize {
        let mut left = 0;
        while coop::has_budget_remaining() {
            task::consume_budget().await;
            left += 1;
        }
        left
    }

    current_thread().block_on(async {
        let full = left().await;
        task::yield_now().await;
        task::consume_budget().await;
        let local = LocalSet::new();
        let spent = local.run_until(async {
            let join = local.spawn_local(left());
            let of_future = poll_fn(|cx| {
                let mut left = pin!(left());
                let Poll::Ready(left) = poll(left.as_mut(), cx.waker()) else {
                    panic!("no task in the set waits");
                };
                Poll::Ready(left)
            })
            .await;
            (join.await.unwrap(), of_future)
        });
        assert_eq!(spent.await, (full, full - 1));
    });
}

#[test]
fn block_on_of_a_handle_drives_a_set() {
    for runtime in [current_thread(), multi_thread()] {
        let handle = runtime.handle().clone();
        watched(move || {
            let local = LocalSet::new();
            let sum = handle.block_on(local.run_until(async {
                let parts = [1, 2, 3].map(|n| {
                    spawn_local(async move {
                        task::yield_now().await;
                        n
                    })
                });
                let mut sum = 0;
                for part in parts {
                    sum += part.await.unwrap();
                }
                sum
            }));
            assert_eq!(sum, 6);
        });
    }
}

#[test]
fn a_finished_run_until_wakes_the_other_driver() {
    let (wakes, waker) = WakeCount::new();
    let local = LocalSet::new();
    let go = Event::default();
    let for_task = go.clone();
    let join = local.spawn_local(async move { for_task.wait().await });
    let mut lasting = pin!(local.run_until(std::future::pending::<()>()));
    let mut brief = pin!(local.run_until(async { go.set() }));
    assert!(poll(lasting.as_mut(), &waker).is_pending());
    assert!(poll(brief.as_mut(), &waker).is_ready());
    assert_eq!(wakes.get(), 1, "a task is ready, and the remaining driver must run it");
    assert!(poll(lasting.as_mut(), &waker).is_pending());
    assert!(join.is_finished());
}
