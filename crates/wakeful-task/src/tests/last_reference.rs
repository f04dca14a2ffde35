//! The release of the last reference frees the cell, and nothing does before.

use super::home::{ENDINGS, RunResult, TestHome};
use super::probes::{Gate, Tally, Token, now};
use crate::{CompletedTask, Id, Outcome, Polled, Runnable, Schedule, new_task};
use std::future::poll_fn;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Poll, Waker};

#[test]
fn each_kind_of_reference_can_be_the_last() {
    for ending in ENDINGS {
        for last in 0..4 {
            let (home, gate, outputs) = (TestHome::new(), Gate::default(), Tally::default());
            let join = home.spawn(gate.then(outputs.token()));
            home.run_one();
            let (waker, abort) = (gate.take_waker(), join.abort_handle());
            let (second_waker, second_abort) = (waker.clone(), abort.clone());
            gate.open();
            waker.wake_by_ref();
            assert_eq!(home.run(home.pop().unwrap(), ending), RunResult::Ended(Outcome::Value));

            let mut drops: [Option<Box<dyn FnOnce()>>; 4] = [
                Some(Box::new(move || drop((waker, abort)))),
                Some(Box::new(move || second_waker.wake())),
                Some(Box::new(move || drop(second_abort))),
                Some(Box::new(move || drop(join))),
            ];
            let last = drops[last].take().unwrap();
            for give_up in drops.into_iter().flatten() {
                give_up();
                assert_eq!(home.cells_freed(), 0, "one reference is left");
            }
            last();
            assert_eq!(outputs.dropped(), 1);
            home.assert_all_freed();
        }
    }
}

#[test]
fn the_schedulers_reference_can_be_the_last() {
    let (home, gate, outputs) = (TestHome::new(), Gate::default(), Tally::default());
    let (runnable, join) = home.task(gate.then(outputs.token()));
    drop(join);
    gate.open();
    let Polled::Ended(finishing) = runnable.run() else { panic!("the gate is open") };
    assert_eq!((home.cells_freed(), outputs.dropped()), (0, 0));
    home.end(finishing, ENDINGS[0]);
    assert_eq!(outputs.dropped(), 1);
    home.assert_all_freed();
}

#[test]
fn a_complete_task_lives_until_its_home_releases_it() {
    let (home, outputs) = (TestHome::new(), Tally::default());
    let output = outputs.token();
    // Not created by the home, whose list would want to remove the task itself.
    // SAFETY: the cell has its count of the home, and everything is `Send`.
    let (runnable, join) =
        unsafe { new_task(async { output }, home.for_a_cell(), Id::next(), Location::caller()) };
    let Polled::Ended(finishing) = runnable.run() else { panic!("it is ready at once") };
    let task = finishing.complete_keeping_ref().into_raw();
    drop(now(join).unwrap());
    assert_eq!((home.cells_freed(), outputs.dropped()), (0, 1));
    // SAFETY: from `into_raw` above.
    drop(unsafe { CompletedTask::from_raw(task) });
    home.assert_all_freed();
}

#[test]
fn a_future_that_keeps_its_own_waker_is_no_cycle_once_it_ends() {
    for abort in [false, true] {
        let (home, gate, futures) = (TestHome::new(), Gate::default(), Tally::default());
        let (mut own, token, shut) = (Vec::new(), futures.token(), gate.clone());
        let mut inner = Box::pin(gate.then(()));
        let join = home.spawn(poll_fn(move |cx| {
            let _owned_by_the_future = &token;
            own.extend([cx.waker().clone(), cx.waker().clone()]);
            inner.as_mut().poll(cx)
        }));
        home.run_one();
        let waker = shut.take_waker();
        if abort {
            join.abort();
            drop(waker);
        } else {
            gate.open();
            waker.wake();
        }
        drop(join);
        assert_eq!(home.cells_freed(), 0);
        home.run_one();
        assert_eq!(futures.dropped(), 1);
        home.assert_all_freed();
    }
}

#[test]
fn an_output_may_hold_wakers_of_its_own_task() {
    for ending in ENDINGS {
        for joined in [false, true] {
            let (home, outputs) = (TestHome::new(), Tally::default());
            let mut token = Some(outputs.token());
            let (runnable, join) = home.task(poll_fn(move |cx| {
                Poll::Ready(OwnWaker { waker: Some(cx.waker().clone()), _token: token.take() })
            }));
            let join = joined.then_some(join);
            home.run(runnable, ending);
            assert_eq!(outputs.dropped(), usize::from(!joined));
            drop(join);
            assert_eq!((outputs.dropped(), home.queued()), (1, 0));
            home.assert_all_freed();
        }
    }
}

/// Wakes its own task when dropped.
struct OwnWaker {
    waker: Option<Waker>,
    _token: Option<Token>,
}

impl Drop for OwnWaker {
    fn drop(&mut self) {
        let waker = self.waker.take().unwrap();
        waker.wake_by_ref();
        waker.wake();
    }
}

#[test]
fn an_output_that_holds_the_last_waker_may_be_taken_and_outlive_the_handle() {
    let home = TestHome::new();
    let (runnable, join) = home.task(poll_fn(|cx| Poll::Ready(cx.waker().clone())));
    home.run(runnable, ENDINGS[0]);
    let waker = now(join).unwrap();
    assert_eq!(home.cells_freed(), 0);
    waker.wake();
    home.assert_all_freed();
}

/// A home that runs each entry at once, so that the task, and the home with it, may be freed before
/// `schedule` returns.
struct ImmediateHome {
    log: Arc<ImmediateLog>,
    retains: bool,
}

#[derive(Default)]
struct ImmediateLog {
    cells_freed: AtomicUsize,
    freed_in_schedule: AtomicUsize,
    homes_gone: Tally,
}

// SAFETY: each cell has a count of the home's `Arc`, which `release_cell` drops.
unsafe impl Schedule for ImmediateHome {
    unsafe fn schedule(home: NonNull<ImmediateHome>, runnable: Runnable) {
        // SAFETY: the entry keeps the home valid up to here.
        let (log, retains) = unsafe { (home.as_ref().log.clone(), home.as_ref().retains) };
        let kept = retains.then(|| runnable.retain());
        if let Polled::Ended(finishing) = runnable.run() {
            finishing.complete();
        }
        log.freed_in_schedule.store(log.cells_freed.load(SeqCst), SeqCst);
        if kept.is_some() {
            // SAFETY: `kept` is a reference to the task, which keeps the home valid.
            assert!(unsafe { home.as_ref() }.retains);
        }
    }

    unsafe fn release_cell(home: NonNull<ImmediateHome>) {
        // SAFETY: the count that the cell had.
        let home = unsafe { Arc::from_raw(home.as_ptr().cast_const()) };
        home.log.cells_freed.fetch_add(1, SeqCst);
    }
}

impl Drop for ImmediateHome {
    fn drop(&mut self) {
        drop(self.log.homes_gone.token());
    }
}

/// Wakes a task, which then ends, while nothing else keeps the task or the home alive.
fn wake_with_nothing_else_left(retains: bool) -> Arc<ImmediateLog> {
    let (log, gate) = (Arc::<ImmediateLog>::default(), Gate::default());
    let home = Arc::into_raw(Arc::new(ImmediateHome { log: log.clone(), retains }));
    let home = NonNull::new(home.cast_mut()).unwrap();
    // SAFETY: the cell has the one count of the home, and everything is `Send`.
    let (runnable, join) = unsafe { new_task(gate.then(()), home, Id::next(), Location::caller()) };
    let Polled::Pending(running) = runnable.run() else { panic!("the gate is shut") };
    assert!(running.idle().is_none());
    drop(join);
    gate.open();
    // By value: the entry alone keeps the task alive while it is scheduled.
    gate.take_waker().wake();
    assert_eq!((log.cells_freed.load(SeqCst), log.homes_gone.dropped()), (1, 1));
    log
}

#[test]
fn task_and_home_may_be_freed_before_schedule_returns() {
    let log = wake_with_nothing_else_left(false);
    assert_eq!(log.freed_in_schedule.load(SeqCst), 1);
}

#[test]
fn a_retained_task_and_its_home_outlive_the_entry() {
    let log = wake_with_nothing_else_left(true);
    assert_eq!(log.freed_in_schedule.load(SeqCst), 0);
}
