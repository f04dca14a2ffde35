//! What is dropped with a set, and in which order.

use super::probes::*;
use std::cell::{OnceCell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::mpsc;
use std::task::{Poll, Waker};
use std::thread;
use wakeful::runtime::Runtime;
use wakeful::task::{self, JoinHandle, LocalSet, spawn_local};

fn is_cancelled<T>(join: JoinHandle<T>) -> bool {
    join.is_finished() && current_thread().block_on(join).is_err_and(|error| error.is_cancelled())
}

#[test]
fn a_set_drops_tasks_in_every_state() {
    let (runtime, drops) = (current_thread(), Drops::default());
    let local = LocalSet::new();
    let with_probe = |future: Pin<Box<dyn Future<Output = ()>>>| {
        let probe = drops.probe();
        local.spawn_local(async move {
            let _probe = probe;
            future.await;
        })
    };
    let (here, there) = (Event::default(), Event::default());
    let (woken_here, woken_there) = (here.clone(), there.clone());
    let joins = [
        with_probe(Box::pin(std::future::pending())),
        with_probe(Box::pin(async move { woken_here.wait().await })),
        with_probe(Box::pin(async move { woken_there.wait().await })),
    ];
    let ended = with_probe(Box::pin(async {}));
    local.block_on(&runtime, task::yield_now());
    assert_eq!(drops.count(), 1);
    ended.abort();
    here.set();
    thread::spawn(move || there.set()).join().unwrap();
    let never_ran = with_probe(Box::pin(async {}));

    drop(local);
    assert_eq!(drops.count(), 5);
    runtime.block_on(ended).unwrap();
    assert!(joins.into_iter().chain([never_ran]).all(is_cancelled));
}

#[test]
fn task_memory_is_freed() {
    let rc = Rc::new(());
    let local = LocalSet::new();
    for n in 0..10 {
        let rc = rc.clone();
        drop(local.spawn_local(async move {
            turns(n).await;
            rc
        }));
    }
    local.block_on(&current_thread(), turns(3));
    drop(local);
    assert_eq!(Rc::strong_count(&rc), 1);
}

#[test]
fn tasks_spawned_while_the_set_is_dropped_are_cancelled() {
    type Joins = Rc<RefCell<Vec<JoinHandle<()>>>>;

    /// When dropped, spawns a task that does the same, up to `levels` deep.
    struct SpawnsInDrop {
        levels: usize,
        drops: Drops,
        joins: Joins,
        _probe: DropProbe,
    }

    impl SpawnsInDrop {
        fn new(levels: usize, drops: &Drops, joins: &Joins) -> SpawnsInDrop {
            let (drops, joins, _probe) = (drops.clone(), joins.clone(), drops.probe());
            SpawnsInDrop { levels, drops, joins, _probe }
        }
    }

    impl Drop for SpawnsInDrop {
        fn drop(&mut self) {
            if self.levels == 0 {
                return;
            }
            let next = SpawnsInDrop::new(self.levels - 1, &self.drops, &self.joins);
            let join = spawn_local(async move {
                let _next = next;
                unreachable!("the set is going away");
            });
            self.joins.borrow_mut().push(join);
        }
    }

    let (drops, joins) = (Drops::default(), Joins::default());
    let local = LocalSet::new();
    for _ in 0..3 {
        let spawns = SpawnsInDrop::new(4, &drops, &joins);
        local.spawn_local(async move {
            let _spawns = spawns;
            std::future::pending::<()>().await;
        });
    }
    local.block_on(&current_thread(), task::yield_now());
    drop(local);
    assert_eq!(drops.count(), 3 * 5);
    assert_eq!(joins.borrow().len(), 3 * 4);
    assert!(joins.take().into_iter().all(is_cancelled));
}

#[test]
fn tasks_wake_each_other_while_being_dropped() {
    let (drops, wakers) = (Drops::default(), Rc::new(RefCell::new(Vec::new())));
    let local = LocalSet::new();
    for _ in 0..5 {
        let (probe, to_wake, to_leave) = (drops.probe(), wakers.clone(), wakers.clone());
        local.spawn_local(async move {
            let _probe = probe;
            let _on_drop = OnDrop(move || to_wake.borrow().iter().for_each(Waker::wake_by_ref));
            poll_fn::<(), _>(|cx| {
                to_leave.borrow_mut().push(cx.waker().clone());
                Poll::Pending
            })
            .await;
        });
    }
    local.block_on(&current_thread(), task::yield_now());
    assert_eq!(wakers.borrow().len(), 5);
    drop(local);
    assert_eq!(drops.count(), 5);
}

#[test]
fn a_panic_in_a_tasks_drop_stays_in_the_task() {
    let (runtime, drops) = (current_thread(), Drops::default());
    let local = LocalSet::new();
    let joins: Vec<_> = (0..4)
        .map(|n| {
            let probe = drops.probe();
            local.spawn_local(async move {
                let _probe = probe;
                let _on_drop = OnDrop(|| assert!(n % 2 == 0, "boom"));
                std::future::pending::<()>().await;
            })
        })
        .collect();
    local.block_on(&runtime, task::yield_now());
    drop(local);
    assert_eq!(drops.count(), 4);
    let errors = joins.into_iter().map(|join| runtime.block_on(join).unwrap_err());
    assert_eq!(
        errors.map(|error| error.is_panic()).collect::<Vec<_>>(),
        [false, true, false, true]
    );
}

#[test]
fn a_set_is_dropped_while_its_thread_unwinds() {
    let drops = Drops::default();
    let (text, _) = panic_of(|| {
        current_thread().block_on(async {
            let local = LocalSet::new();
            let probe = drops.probe();
            local.spawn_local(async move {
                let _probe = probe;
                std::future::pending::<()>().await;
            });
            local.run_until(async { panic!("boom") }).await
        })
    });
    assert_eq!(text, "boom");
    assert_eq!(drops.count(), 1);
}

#[test]
fn spawns_of_a_guard_are_cancelled_after_its_set_is_dropped() {
    let drops = Drops::default();
    let local = LocalSet::new();
    let guard = local.enter();
    drop(local);
    let probe = drops.probe();
    let join = spawn_local(async move { drop(probe) });
    assert_eq!(drops.count(), 1);
    assert!(is_cancelled(join));
    drop(guard);
}

#[test]
fn a_dropped_set_releases_its_pollers_waker() {
    let (wakes, waker) = WakeCount::new();
    let mut local = LocalSet::new();
    let join = local.spawn_local(std::future::pending::<()>());
    assert!(poll(Pin::new(&mut local), &waker).is_pending());
    drop(waker);
    assert_eq!(std::sync::Arc::strong_count(&wakes), 2);
    drop(local);
    assert_eq!(std::sync::Arc::strong_count(&wakes), 1);
    drop(join);
}

#[test]
fn a_set_in_a_thread_local_is_dropped_with_the_thread() {
    thread_local! {
        static EARLY: OnceCell<LocalSet> = const { OnceCell::new() };
        static LATE: OnceCell<LocalSet> = const { OnceCell::new() };
    }

    let drops = Drops::default();
    let for_thread = drops.clone();
    watched(move || {
        thread::spawn(move || {
            let drops = for_thread;
            let fill = |set: &OnceCell<LocalSet>| {
                let local = set.get_or_init(LocalSet::new);
                let (probe, for_drop) = (drops.probe(), drops.clone());
                let waits = local.spawn_local(async move {
                    let _probe = probe;
                    let _on_drop = OnDrop(|| {
                        let probe = for_drop.probe();
                        drop(spawn_local(async move { drop(probe) }));
                    });
                    std::future::pending::<()>().await;
                });
                let probe = drops.probe();
                local.spawn_local(async move {
                    let _probe = probe;
                    waits.await.unwrap();
                });
                local.block_on(&current_thread(), task::yield_now());
                let probe = drops.probe();
                local.spawn_local(async move { drop(probe) });
            };
            // One set is created before the thread-locals of the runtime are first used, the other
            // after.
            EARLY.with(fill);
            LATE.with(fill);
        })
        .join()
        .unwrap();
    });
    assert_eq!(drops.count(), 2 * 4);
}

#[test]
fn a_set_and_its_runtime_share_a_thread_local() {
    struct Both {
        runtime: Runtime,
        local: LocalSet,
    }

    thread_local! {
        static BOTH: Both = Both { runtime: current_thread(), local: LocalSet::new() };
    }

    let drops = Drops::default();
    let for_thread = drops.clone();
    thread::spawn(move || {
        BOTH.with(|both| {
            let probe = for_thread.probe();
            both.local.block_on(&both.runtime, async {
                spawn_local(async {}).await.unwrap();
                spawn_local(async move {
                    let _probe = probe;
                    std::future::pending::<()>().await;
                });
                task::yield_now().await;
            });
        });
    })
    .join()
    .unwrap();
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_set_that_is_leaked_can_still_be_woken() {
    let (to_us, wakers) = mpsc::channel();
    let (_, poller) = WakeCount::new();
    let mut local = LocalSet::new();
    local.spawn_local(leave_waker(to_us));
    assert!(poll(Pin::new(&mut local), &poller).is_pending());
    std::mem::forget(local);
    let waker = wakers.recv().unwrap();
    thread::spawn(move || waker.wake()).join().unwrap();
}
