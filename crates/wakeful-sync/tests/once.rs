//! Tests of [`OnceCell`], [`SetOnce`] and [`Barrier`].

mod support;

use std::future::{pending, ready};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Instant;

use support::*;
use wakeful_base::block_on;
use wakeful_sync::{Barrier, Notify, OnceCell, SetError, SetOnce, SetOnceError};

#[test]
fn a_cell_is_set_once() {
    let mut cell = OnceCell::new();
    assert_eq!((cell.get(), cell.initialized()), (None, false));
    cell.set(1).unwrap();
    let error = cell.set(2).unwrap_err();
    assert!(error.is_already_init_err());
    assert_eq!(
        (error.to_string(), error),
        ("AlreadyInitializedError".into(), SetError::AlreadyInitializedError(2))
    );
    *cell.get_mut().unwrap() += 1;
    assert_eq!(format!("{cell:?}"), "OnceCell { value: Some(2) }");
    assert_eq!(cell.clone(), OnceCell::from(2));
    assert_eq!(cell.take(), Some(2));
    cell.set(3).unwrap();
    assert_eq!(cell.into_inner(), Some(3));
    assert_eq!(OnceCell::<i32>::const_new_with(1).into_inner(), Some(1));
    assert_eq!(OnceCell::<i32>::const_new().into_inner(), None);
    assert_eq!(OnceCell::<i32>::new_with(None), OnceCell::default());
}

#[test]
fn one_task_initializes_and_the_others_wait() {
    let cell = OnceCell::new();
    let made = AtomicUsize::new(0);
    let (go, wait) = wakeful_sync::oneshot::channel::<i32>();
    let mut first = manual(cell.get_or_init(|| async {
        made.fetch_add(1, SeqCst);
        wait.await.unwrap()
    }));
    let mut second = manual(cell.get_or_init(|| async { unreachable!("the first makes it") }));
    first.pending();
    second.pending();
    assert!(cell.set(9).unwrap_err().is_initializing_err());
    go.send(7).unwrap();
    assert_eq!(first.ready(), &7);
    assert_eq!(second.wakes(), 1);
    assert_eq!(second.ready(), &7);
    assert_eq!(made.load(SeqCst), 1);
}

#[test]
fn a_failed_panicked_or_cancelled_attempt_lets_the_next_waiter_initialize() {
    let cell = OnceCell::new();
    let mut waits: Vec<_> = (0..4)
        .map(|at| {
            manual(cell.get_or_try_init(move || async move {
                match at {
                    0 => pending().await,
                    1 => Err("failed"),
                    2 => panic!("panicked"),
                    _ => ready(Ok(at)).await,
                }
            }))
        })
        .collect();
    waits.iter_mut().for_each(Manual::pending);
    drop(waits.remove(0));
    assert_eq!(waits[0].wakes(), 1);
    assert_eq!(waits[0].ready(), Err("failed"));
    assert_eq!((waits[1].wakes(), waits[2].wakes()), (1, 0));
    assert!(catch_unwind(AssertUnwindSafe(|| waits[1].poll().is_ready())).is_err());
    drop(waits.remove(1));
    assert_eq!(waits[1].ready(), Ok(&3));
    assert_eq!(cell.get(), Some(&3));
}

#[test]
fn an_init_permit_given_to_a_dropped_future_is_passed_on() {
    let cell = OnceCell::new();
    let mut first = manual(cell.get_or_init(pending));
    let mut second = manual(cell.get_or_init(|| async { 2 }));
    let mut third = manual(cell.get_or_init(|| async { 3 }));
    first.pending();
    second.pending();
    third.pending();
    drop(first);
    drop(second);
    assert_eq!(third.wakes(), 1);
    assert_eq!(third.ready(), &3);
}

#[test]
fn a_value_set_once_is_dropped_once() {
    let alive = Alive::default();
    drop(OnceCell::from(alive.value(0)));
    let cell = OnceCell::new();
    assert!(cell.set(alive.value(0)).is_ok());
    assert!(cell.set(alive.value(1)).is_err());
    drop(cell.into_inner());
    let once = SetOnce::new();
    assert!(once.set(alive.value(0)).is_ok());
    assert!(once.set(alive.value(1)).is_err());
    drop(once);
    drop(SetOnce::from(alive.value(0)).into_inner());
    alive.assert_none();
}

#[test]
fn set_wakes_waiters_of_a_set_once() {
    let once = SetOnce::new();
    let mut waits: Vec<_> = (0..40).map(|_| manual(once.wait())).collect();
    waits.iter_mut().for_each(Manual::pending);
    drop(waits.pop());
    once.set(5).unwrap();
    for wait in &mut waits {
        assert_eq!(wait.wakes(), 1);
        assert_eq!(wait.ready(), &5);
    }
    assert_eq!(once.set(6), Err(SetOnceError(6)));
    assert_eq!(SetOnceError(6).to_string(), "SetOnceError");
    assert_eq!(manual(once.wait()).ready(), &5);
    assert_eq!(format!("{once:?}"), "SetOnce { value: Some(5) }");
    assert_eq!(once.clone(), SetOnce::const_new_with(5));
    drop(waits);
    assert_eq!(once.into_inner(), Some(5));
    assert_eq!(SetOnce::<i32>::const_new().get(), None);
}

#[test]
fn a_barrier_releases_all_when_the_last_task_arrives() {
    let barrier = Barrier::new(3);
    for _ in 0..3 {
        let mut first = manual(barrier.wait());
        let mut second = manual(barrier.wait());
        first.pending();
        second.pending();
        assert!(manual(barrier.wait()).ready().is_leader());
        assert_eq!((first.wakes(), second.wakes()), (1, 1));
        assert!(!first.ready().is_leader());
        assert!(!second.ready().is_leader());
    }
}

#[test]
fn a_barrier_of_size_zero_or_one_never_waits() {
    for size in [0, 1] {
        let barrier = Barrier::new(size);
        assert!(manual(barrier.wait()).ready().is_leader());
        assert!(manual(barrier.wait()).ready().is_leader());
    }
}

#[test]
fn stress_all_tasks_pass_a_barrier_together() {
    const SIZE: usize = 4;
    let deadline = stress_deadline();
    let barrier = Arc::new(Barrier::new(SIZE));
    let rounds = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..SIZE)
        .map(|_| {
            let (barrier, rounds) = (barrier.clone(), rounds.clone());
            thread::spawn(move || {
                let mut led = 0;
                for round in 0.. {
                    // The leader decides for all threads, between two barriers.
                    if block_on(barrier.wait()).is_leader() {
                        led += 1;
                        let next = if Instant::now() < deadline { round + 1 } else { usize::MAX };
                        rounds.store(next, SeqCst);
                    }
                    block_on(barrier.wait());
                    match rounds.load(SeqCst) {
                        usize::MAX => return (led, round + 1),
                        now => assert_eq!(now, round + 1, "all are in the same round"),
                    }
                }
                unreachable!("rounds do not end by themselves");
            })
        })
        .collect();
    let results: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert_eq!(results.iter().map(|(led, _)| led).sum::<usize>(), results[0].1);
}

#[test]
fn stress_all_tasks_see_the_same_value() {
    let deadline = stress_deadline();
    let alive = Alive::default();
    while Instant::now() < deadline {
        let cell = Arc::new(OnceCell::new());
        let once = Arc::new(SetOnce::new());
        let threads: Vec<_> = (0..3)
            .map(|id| {
                let (cell, once, alive) = (cell.clone(), once.clone(), alive.clone());
                thread::spawn(move || {
                    // A cancelled attempt first, which may have had the permit to initialize.
                    let _ = manual(cell.get_or_init(pending::<Counted>)).poll().is_ready();
                    let value = block_on(cell.get_or_init(|| async { alive.value(id) })).number;
                    let _ = once.set(value);
                    (value, *block_on(once.wait()))
                })
            })
            .collect();
        let values: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let first = values[0].0;
        assert!(values.iter().all(|value| *value == (first, first)));
        drop(cell);
        alive.assert_none();
    }
}

#[test]
fn a_barrier_can_be_formatted_by_a_writer_that_waits_for_it() {
    struct WaitsForIt(Arc<Barrier>, String);
    impl std::fmt::Write for WaitsForIt {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            manual(self.0.wait()).pending();
            self.1.write_str(text)
        }
    }
    must_end(|| {
        let barrier = Arc::new(Barrier::new(100));
        let mut shown = WaitsForIt(barrier.clone(), String::new());
        std::fmt::write(&mut shown, format_args!("{barrier:?}")).unwrap();
        assert_eq!(shown.1, "Barrier { arrived: 0, size: 100 }");
    });
}

#[test]
fn the_init_permit_passes_on_though_its_holder_and_the_next_waker_panic() {
    let cell = OnceCell::new();
    let start = Notify::new();
    let mut first = manual(cell.get_or_init(|| async {
        start.notified().await;
        panic!("the value cannot be made")
    }));
    first.pending();
    let mut second = manual(cell.get_or_init(|| ready(2)));
    assert!(second.poll_with(&panicking_waker()).is_pending());
    start.notify_one();
    assert!(catch_unwind(AssertUnwindSafe(|| first.poll().is_ready())).is_err());
    assert_eq!(second.ready(), &2);

    // If the first initializer returns an error, that error is not replaced by the waker's panic.
    let cell = OnceCell::new();
    let mut first = manual(cell.get_or_try_init(|| async {
        start.notified().await;
        Err("not yet")
    }));
    first.pending();
    let mut second = manual(cell.get_or_init(|| ready(2)));
    assert!(second.poll_with(&panicking_waker()).is_pending());
    start.notify_one();
    assert_eq!(first.ready(), Err("not yet"));
    assert_eq!(second.ready(), &2);
}
