//! The join handle: what it returns, and which side drops the output and the waker.

use super::home::{ENDINGS, Ending, RunResult, TestHome};
use super::probes::{ExternalWaker, Gate, Tally, now, poll_with};
use crate::{JoinHandle, Outcome, set_join_waker};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use wakeful_base::budget;

#[test]
fn the_join_handle_is_woken_once_when_the_task_ends() {
    for ending in ENDINGS {
        let (home, external) = (TestHome::new(), ExternalWaker::new());
        let (runnable, mut join) = home.task(async { 5 });
        assert!(poll_with(&mut join, &external.waker()).is_pending());
        assert_eq!(external.woken(), 0);
        home.run(runnable, ending);
        assert_eq!(external.woken(), 1);
        assert_eq!(now(&mut join).unwrap(), 5);
        drop(join);
        assert_eq!((external.woken(), external.alive()), (1, 0));
        home.assert_all_freed();
    }
}

#[test]
fn the_same_waker_is_cloned_once_and_a_new_one_takes_its_place() {
    for ending in ENDINGS {
        let (home, first, second) = (TestHome::new(), ExternalWaker::new(), ExternalWaker::new());
        let (runnable, mut join) = home.task(async {});
        let waker = first.waker();
        for _ in 0..3 {
            assert!(poll_with(&mut join, &waker).is_pending());
        }
        assert_eq!(first.clones.load(SeqCst), 2, "ours and the slot's");
        drop(waker);
        assert_eq!(first.alive(), 1);

        assert!(poll_with(&mut join, &second.waker()).is_pending());
        assert_eq!((first.alive(), second.alive()), (0, 1));
        home.run(runnable, ending);
        assert_eq!((first.woken(), second.woken()), (0, 1));
        drop(join);
        assert_eq!((first.alive(), second.alive()), (0, 0));
        home.assert_all_freed();
    }
}

#[test]
fn a_handle_dropped_before_the_end_drops_its_waker_and_the_end_drops_the_output() {
    for ending in ENDINGS {
        for polled in [false, true] {
            let (home, outputs, external) =
                (TestHome::new(), Tally::default(), ExternalWaker::new());
            let output = outputs.token();
            let (runnable, mut join) = home.task(async { output });
            if polled {
                assert!(poll_with(&mut join, &external.waker()).is_pending());
            }
            drop(join);
            assert_eq!((external.alive(), home.cells_freed()), (0, 0));
            assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Value));
            assert_eq!((outputs.dropped(), external.woken()), (1, 0));
            home.assert_all_freed();
        }
    }
}

#[test]
fn the_output_of_a_detached_task_is_dropped_at_its_end_while_wakers_are_left() {
    for ending in ENDINGS {
        let (home, gate, outputs) = (TestHome::new(), Gate::default(), Tally::default());
        drop(home.spawn(gate.then(outputs.token())));
        home.run_one();
        let waker = gate.take_waker();
        gate.open();
        waker.wake_by_ref();
        home.run(home.pop().unwrap(), ending);
        assert_eq!((outputs.dropped(), home.cells_freed()), (1, 0), "the waker is the last");
        drop(waker);
        home.assert_all_freed();
    }
}

#[test]
fn a_handle_dropped_after_the_end_drops_the_output_unless_taken() {
    for ending in ENDINGS {
        for taken in [false, true] {
            for polled in [false, true] {
                let (home, outputs, external) =
                    (TestHome::new(), Tally::default(), ExternalWaker::new());
                let output = outputs.token();
                let (runnable, mut join) = home.task(async { output });
                if polled {
                    assert!(poll_with(&mut join, &external.waker()).is_pending());
                }
                home.run(runnable, ending);
                let output = taken.then(|| now(&mut join));
                assert_eq!(outputs.dropped(), 0);
                drop(join);
                assert_eq!(outputs.dropped(), usize::from(!taken));
                home.assert_all_freed();
                drop(output);
                assert_eq!((outputs.dropped(), external.alive()), (1, 0));
            }
        }
    }
}

/// Joins a task with a waker that does `what` to the handle when it is woken at the task's end.
fn in_the_wake_up(
    ending: Ending,
    what: impl FnOnce(JoinHandle<super::probes::Token>) + Send + 'static,
) {
    let (home, outputs, external) = (TestHome::new(), Tally::default(), ExternalWaker::new());
    let output = outputs.token();
    let (runnable, mut join) = home.task(async { output });
    assert!(poll_with(&mut join, &external.waker()).is_pending());
    *external.on_wake.lock().unwrap() = Some(Box::new(move || what(join)));
    home.run(runnable, ending);
    assert_eq!((external.woken(), external.alive(), outputs.dropped()), (1, 0, 1));
    home.assert_all_freed();
}

#[test]
fn a_handle_may_be_dropped_by_its_own_wake_up() {
    for ending in ENDINGS {
        in_the_wake_up(ending, drop);
    }
}

#[test]
fn a_handle_may_be_polled_by_its_own_wake_up() {
    for ending in ENDINGS {
        in_the_wake_up(ending, |join| drop(now(join)));
        in_the_wake_up(ending, |mut join| {
            let other = ExternalWaker::new();
            assert!(poll_with(&mut join, &other.waker()).is_ready());
            assert_eq!(other.alive(), 0);
        });
    }
}

#[test]
fn a_task_may_own_its_own_handle() {
    for ending in ENDINGS {
        let (home, futures) = (TestHome::new(), Tally::default());
        let own = Arc::new(Mutex::new(None::<JoinHandle<()>>));
        let (seen, token) = (own.clone(), futures.token());
        let join = home.spawn(async move {
            let _token = token;
            let own = seen.lock().unwrap().take().unwrap();
            drop(own.await);
            unreachable!("a task cannot see its own end");
        });
        let abort = join.abort_handle();
        *own.lock().unwrap() = Some(join);
        assert_eq!(home.run_one(), RunResult::Idle);
        abort.abort();
        assert_eq!(home.run(home.pop().unwrap(), ending), RunResult::Ended(Outcome::Cancelled));
        drop(abort);
        assert_eq!(futures.dropped(), 1);
        home.assert_all_freed();
    }
}

#[test]
fn the_slot_may_hold_a_waker_of_the_very_task() {
    for ending in ENDINGS {
        let (home, gate) = (TestHome::new(), Gate::default());
        let mut join = home.spawn(gate.then(()));
        home.run_one();
        let waker = gate.take_waker();
        assert!(poll_with(&mut join, &waker).is_pending());
        gate.open();
        waker.wake();
        home.run(home.pop().unwrap(), ending);
        assert_eq!(home.queued(), 0, "a complete task is not scheduled");
        drop(join);
        home.assert_all_freed();
    }
}

#[test]
fn the_slot_tells_wakers_of_tasks_and_others_apart() {
    for ending in ENDINGS {
        for last_is_task in [false, true] {
            let (home, joiners, external) =
                (TestHome::new(), TestHome::new(), ExternalWaker::new());
            let (gates, other) = ([Gate::default(), Gate::default()], external.waker());
            let parked = gates.each_ref().map(|gate| joiners.spawn(gate.then(())));
            joiners.run_all();
            let [first, second] = gates.each_ref().map(Gate::take_waker);
            let (runnable, mut join) = home.task(async {});

            // From one kind of waker to the other and to the same kind, each also twice in a row.
            for waker in [&first, &first, &second, &other, &other, &first] {
                assert!(poll_with(&mut join, waker).is_pending());
            }
            assert_eq!(external.clones.load(SeqCst), 2, "ours, and the slot's while it was there");
            assert_eq!(external.alive(), 1);
            if !last_is_task {
                assert!(poll_with(&mut join, &other).is_pending());
            }
            home.run(runnable, ending);
            assert_eq!(joiners.queued(), usize::from(last_is_task));
            assert_eq!(external.woken(), usize::from(!last_is_task));
            drop((first, second, parked));
            joiners.shut_down();
            let kept = usize::from(last_is_task);
            assert_eq!(joiners.cells_freed(), 2 - kept, "the slot keeps the one it holds");
            drop((join, other));
            assert_eq!(external.alive(), 0);
            home.assert_all_freed();
            joiners.assert_all_freed();
        }
    }
}

#[test]
fn a_handle_polled_after_it_returned_the_output_panics() {
    let home = TestHome::new();
    let mut join = home.spawn(async {});
    home.run_all();
    now(&mut join).unwrap();
    let again = catch_unwind(AssertUnwindSafe(|| poll_with(&mut join, Waker::noop())));
    let message = *again.expect_err("a panic").downcast::<&str>().unwrap();
    assert!(message.contains("polled after"), "{message}");
    drop(join);
    home.assert_all_freed();
}

#[test]
fn a_handle_without_budget_yields_and_is_woken() {
    let (home, external) = (TestHome::new(), ExternalWaker::new());
    let mut join = home.spawn(async {});
    home.run_all();
    budget::with_initial(|| {
        for _ in 0..128 {
            let Poll::Ready(unit) = budget::poll_proceed(&mut context()) else { panic!("too few") };
            unit.made_progress();
        }
        assert!(poll_with(&mut join, &external.waker()).is_pending());
        assert_eq!(external.woken(), 1, "nothing else would wake it");
    });
    now(&mut join).unwrap();
    drop(join);
    assert_eq!(external.alive(), 0);
    home.assert_all_freed();
}

fn context() -> std::task::Context<'static> {
    std::task::Context::from_waker(Waker::noop())
}

#[test]
fn set_join_waker_sets_replaces_and_refuses_after_the_end() {
    let (home, first, second) = (TestHome::new(), ExternalWaker::new(), ExternalWaker::new());
    let mut join = home.spawn(async {});
    assert!(set_join_waker(&mut join, &first.waker()));
    assert!(set_join_waker(&mut join, &second.waker()));
    assert_eq!((first.alive(), second.alive()), (0, 1));
    home.run_all();
    assert_eq!((first.woken(), second.woken()), (0, 1));
    assert!(!set_join_waker(&mut join, &first.waker()));
    assert_eq!(first.alive(), 0, "refused and not kept");
    now(join).unwrap();
    assert_eq!(second.alive(), 0);
    home.assert_all_freed();
}
