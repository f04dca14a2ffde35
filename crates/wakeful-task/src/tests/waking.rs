//! One wake-up, one entry, one poll.

use super::home::{ENDINGS, RunResult, TestHome};
use super::probes::{Gate, Tally, now, poll_with, wake_by_value};
use crate::{Outcome, Polled, is_waker_of};
use std::future::poll_fn;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;

#[test]
fn a_ready_future_is_polled_once_and_everything_dropped_once() {
    for ending in ENDINGS {
        let (home, futures, outputs) = (TestHome::new(), Tally::default(), Tally::default());
        let (future, mut output) = (futures.token(), Some(outputs.token()));
        let (runnable, join) = home.task(async move {
            let _future = future;
            output.take().expect("polled once")
        });
        assert_eq!((futures.dropped(), home.cells_freed()), (0, 0));
        assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Value));
        assert_eq!((futures.dropped(), outputs.dropped(), home.cells_freed()), (1, 0, 0));
        let output = now(join).expect("a value");
        assert_eq!((outputs.dropped(), home.cells_freed()), (0, 1), "the handle was the last");
        drop(output);
        assert_eq!((futures.dropped(), outputs.dropped()), (1, 1));
        home.assert_all_freed();
    }
}

#[test]
fn an_idle_task_is_scheduled_once_however_often_it_is_woken() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let join = home.spawn(gate.then(7));
    assert_eq!(home.run_one(), RunResult::Idle);
    assert_eq!((home.schedule_calls(), home.queued()), (0, 0), "it has not been woken");

    let waker = gate.take_waker();
    waker.wake_by_ref();
    assert_eq!((home.schedule_calls(), home.queued()), (1, 1));
    waker.wake_by_ref();
    wake_by_value(&waker);
    assert_eq!((home.schedule_calls(), home.queued()), (1, 1), "it is scheduled already");

    assert_eq!(home.run_one(), RunResult::Idle);
    assert_eq!(gate.polls(), 2);
    gate.open();
    waker.wake();
    assert_eq!((home.schedule_calls(), home.queued()), (2, 1), "it waited again");
    assert_eq!(home.run_one(), RunResult::Ended(Outcome::Value));
    assert_eq!(now(join).unwrap(), 7);
    drop(gate);
    home.assert_all_freed();
}

#[test]
fn a_wake_during_the_poll_gives_the_entry_to_the_poller() {
    let home = TestHome::new();
    let mut polls = 0;
    let join = home.spawn(poll_fn(move |cx| {
        polls += 1;
        // Twice by reference and once by value: still one further poll.
        cx.waker().wake_by_ref();
        cx.waker().wake_by_ref();
        wake_by_value(cx.waker());
        if polls == 3 { Poll::Ready(()) } else { Poll::Pending }
    }));
    assert_eq!(home.run_one(), RunResult::Again);
    assert_eq!(home.run_one(), RunResult::Again);
    assert_eq!(
        home.run_one(),
        RunResult::Ended(Outcome::Value),
        "woken in its last poll, which ends it"
    );
    assert_eq!((home.schedule_calls(), home.queued()), (0, 0));
    now(join).unwrap();
    home.assert_all_freed();
}

#[test]
fn a_wake_on_another_thread_during_the_poll_is_not_lost() {
    let (home, woken) = (TestHome::new(), Arc::new(AtomicUsize::new(0)));
    let seen = woken.clone();
    let join = home.spawn(poll_fn(move |cx| {
        if seen.load(SeqCst) == 1 {
            return Poll::Ready(());
        }
        let (waker, seen) = (cx.waker().clone(), seen.clone());
        let other = thread::spawn(move || {
            seen.store(1, SeqCst);
            waker.wake();
        });
        other.join().unwrap();
        Poll::Pending
    }));
    assert_eq!(home.run_one(), RunResult::Again);
    assert_eq!(home.run_one(), RunResult::Ended(Outcome::Value));
    assert_eq!(home.schedule_calls(), 0);
    drop(join);
    home.assert_all_freed();
}

#[test]
fn a_wake_between_the_poll_and_idle_is_not_lost() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let (runnable, join) = home.task(gate.then(()));
    let Polled::Pending(running) = runnable.run() else { panic!("the gate is shut") };
    gate.take_waker().wake();
    assert_eq!(home.queued(), 0, "the poller still has the task");
    let again = running.idle().expect("woken meanwhile");
    gate.open();
    assert_eq!(home.run(again, ENDINGS[0]), RunResult::Ended(Outcome::Value));
    drop(join);
    home.assert_all_freed();
}

#[test]
fn a_requeued_task_has_one_entry_however_often_it_was_woken() {
    for (wake, abort) in [(false, false), (true, false), (false, true), (true, true)] {
        let (home, gate) = (TestHome::new(), Gate::default());
        let (runnable, join) = home.task(gate.then(3));
        let Polled::Pending(running) = runnable.run() else { panic!("the gate is shut") };
        let waker = gate.take_waker();
        if wake {
            waker.wake_by_ref();
        }
        if abort {
            join.abort();
        }
        let again = running.requeue();
        waker.wake();
        assert_eq!((home.schedule_calls(), home.queued()), (0, 0), "the poller has the entry");
        gate.open();
        let outcome = if abort { Outcome::Cancelled } else { Outcome::Value };
        assert_eq!(home.run(again, ENDINGS[0]), RunResult::Ended(outcome));
        assert_eq!(now(join).ok(), (!abort).then_some(3));
        home.assert_all_freed();
    }
}

#[test]
fn a_wake_after_the_end_does_nothing() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let join = home.spawn(gate.then(()));
    home.run_one();
    let waker = gate.take_waker();
    gate.open();
    waker.wake_by_ref();
    assert_eq!(home.run_one(), RunResult::Ended(Outcome::Value));
    waker.wake_by_ref();
    wake_by_value(&waker);
    assert_eq!((home.schedule_calls(), home.queued()), (1, 0));
    assert_eq!(gate.polls(), 2);
    now(join).unwrap();
    assert_eq!(home.cells_freed(), 0, "the waker keeps the memory");
    waker.wake();
    assert_eq!((home.schedule_calls(), home.queued()), (1, 0));
    home.assert_all_freed();
}

#[test]
fn wakers_are_equal_for_the_same_task_only() {
    let (home, gates) = (TestHome::new(), [Gate::default(), Gate::default()]);
    let joins = [home.spawn(gates[0].then(())), home.spawn(gates[1].then(()))];
    home.run_all();
    let (first, second) = (gates[0].take_waker(), gates[1].take_waker());
    assert!(first.will_wake(&first.clone()));
    assert!(!first.will_wake(&second));
    let task = NonNull::new(first.data().cast_mut().cast()).unwrap();
    assert!(is_waker_of(&first, task) && !is_waker_of(&second, task));
    // An external waker with the same data.
    static OTHER: RawWakerVTable = RawWakerVTable::new(other_waker, |_| (), |_| (), |_| ());
    fn other_waker(data: *const ()) -> RawWaker {
        RawWaker::new(data, &OTHER)
    }
    // SAFETY: the functions of this waker do nothing with the data.
    let other = unsafe { Waker::from_raw(other_waker(first.data())) };
    assert!(!is_waker_of(&other, task));
    first.wake_by_ref();
    home.run_one();
    assert!(gates[0].take_waker().will_wake(&first), "the same in each poll");
    drop((first, second, joins));
    home.shut_down();
    home.assert_all_freed();
}

#[test]
fn a_task_given_another_home_is_scheduled_and_freed_there() {
    let (first, second, gate) = (TestHome::new(), TestHome::new(), Gate::default());
    let (runnable, join) = first.task(gate.then(()));
    let Polled::Pending(running) = runnable.run() else { panic!("the gate is shut") };
    // SAFETY: both homes have the same type, and each has a count for the cell.
    unsafe {
        let old = running.home::<TestHome>();
        assert_eq!(old.as_ptr().cast_const(), Arc::as_ptr(&first));
        running.set_home(second.for_a_cell());
        assert_eq!(running.home::<TestHome>().as_ptr().cast_const(), Arc::as_ptr(&second));
        drop(Arc::from_raw(old.as_ptr().cast_const()));
    }
    assert!(running.idle().is_none());
    gate.open();
    gate.take_waker().wake();
    assert_eq!((first.queued(), second.queued()), (0, 1));
    let runnable = second.pop().unwrap();
    first.run(runnable, ENDINGS[0]);
    drop(join);
    assert_eq!((first.cells_freed(), second.cells_freed()), (0, 1));
    assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1));
}

#[test]
fn tasks_that_await_tasks_run_to_the_end() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let mut inner = home.spawn(gate.then(1));
    for _ in 0..20 {
        let before = inner;
        inner = home.spawn(async move { before.await.unwrap() + 1 });
    }
    home.run_all();
    let waker = gate.take_waker();
    gate.open();
    waker.wake();
    home.run_all();
    assert_eq!(now(inner).unwrap(), 21);
    home.assert_all_freed();
}

#[test]
fn a_future_of_any_size_and_alignment_is_kept_in_place() {
    #[repr(align(256))]
    struct Aligned(u8);

    let (home, addresses) = (TestHome::new(), Arc::new(Mutex::new(Vec::new())));
    let seen = addresses.clone();
    let aligned = home.spawn(async move {
        let value = Aligned(3);
        for _ in 0..2 {
            seen.lock().unwrap().push((&raw const value).addr());
            yield_once().await;
        }
        value
    });
    let big = home.spawn(async {
        let bytes = [5u8; 10_000];
        yield_once().await;
        bytes
    });
    let empty = home.spawn(std::future::ready(()));
    home.run_all();
    assert_eq!(now(aligned).unwrap().0, 3);
    assert_eq!(now(big).unwrap(), [5u8; 10_000]);
    now(empty).unwrap();
    let addresses = addresses.lock().unwrap();
    assert_eq!(addresses.len(), 2);
    assert_eq!(addresses[0], addresses[1], "a pinned future moved");
    assert_eq!(addresses[0] % 256, 0);
    home.assert_all_freed();
}

async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if yielded {
            return Poll::Ready(());
        }
        yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn a_handle_that_was_polled_but_not_woken_is_still_pending() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let mut join = home.spawn(gate.then(()));
    assert!(poll_with(&mut join, Waker::noop()).is_pending());
    home.run_all();
    assert!(poll_with(&mut join, Waker::noop()).is_pending());
    assert!(!join.is_finished());
    gate.open();
    gate.take_waker().wake();
    home.run_all();
    assert!(join.is_finished());
    now(join).unwrap();
    home.assert_all_freed();
}
