//! External wakers that panic: the task proceeds, and each waker is dropped once.

use super::home::{ENDINGS, RunResult, TestHome};
use super::probes::{ExternalWaker, Tally, now, poll_with};
use crate::{JoinHandle, Outcome};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

/// Polls with a waker that panics meanwhile. The caller of the poll gets the panic.
#[track_caller]
fn poll_panics<T>(join: &mut JoinHandle<T>, external: &Arc<ExternalWaker>) {
    let waker = external.waker();
    assert!(catch_unwind(AssertUnwindSafe(|| poll_with(join, &waker).is_ready())).is_err());
}

#[test]
fn a_panic_in_wake_does_not_reach_the_completing_thread() {
    for ending in ENDINGS {
        let (home, external, outputs) = (TestHome::new(), ExternalWaker::new(), Tally::default());
        external.panic_in_wake.store(true, SeqCst);
        let output = outputs.token();
        let (runnable, mut join) = home.task(async { output });
        assert!(poll_with(&mut join, &external.waker()).is_pending());
        assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Value));
        assert_eq!(external.woken(), 1);
        drop(now(&mut join).expect("the output is there nonetheless"));
        drop(join);
        assert_eq!((external.alive(), outputs.dropped()), (0, 1));
        home.assert_all_freed();
    }
}

#[test]
fn a_panic_in_the_clone_of_the_first_waker_leaves_the_slot_empty() {
    for ending in ENDINGS {
        let (home, external, sane) = (TestHome::new(), ExternalWaker::new(), ExternalWaker::new());
        external.panic_in_clone.store(true, SeqCst);
        let (runnable, mut join) = home.task(async {});
        poll_panics(&mut join, &external);
        assert_eq!(external.alive(), 0);
        assert!(poll_with(&mut join, &sane.waker()).is_pending());
        home.run(runnable, ending);
        assert_eq!((external.woken(), sane.woken()), (0, 1));
        drop(join);
        assert_eq!(sane.alive(), 0);
        home.assert_all_freed();
    }
}

#[test]
fn a_panic_in_the_clone_of_the_next_waker_leaves_the_one_before_in_place() {
    for ending in ENDINGS {
        for drop_join in [false, true] {
            let (home, sane, external) =
                (TestHome::new(), ExternalWaker::new(), ExternalWaker::new());
            external.panic_in_clone.store(true, SeqCst);
            let (runnable, mut join) = home.task(async {});
            assert!(poll_with(&mut join, &sane.waker()).is_pending());
            poll_panics(&mut join, &external);
            assert_eq!((sane.alive(), external.alive()), (1, 0));
            if drop_join {
                drop(join);
                assert_eq!(sane.alive(), 0, "it goes with the handle, not with the task");
                home.run(runnable, ending);
            } else {
                home.run(runnable, ending);
                assert_eq!(sane.woken(), 1);
                now(join).unwrap();
            }
            assert_eq!(sane.alive(), 0);
            home.assert_all_freed();
        }
    }
}

#[test]
fn a_panic_in_the_drop_of_the_waker_before_leaves_the_next_in_place() {
    for ending in ENDINGS {
        for drop_join in [false, true] {
            let (home, external, sane) =
                (TestHome::new(), ExternalWaker::new(), ExternalWaker::new());
            let (runnable, mut join) = home.task(async {});
            assert!(poll_with(&mut join, &external.waker()).is_pending());
            external.panic_in_drop.store(true, SeqCst);
            poll_panics(&mut join, &sane);
            assert_eq!((external.alive(), sane.alive()), (0, 1));
            if drop_join {
                drop(join);
                assert_eq!(sane.alive(), 0, "it goes with the handle, not with the task");
                home.run(runnable, ending);
            } else {
                home.run(runnable, ending);
                assert_eq!((external.woken(), sane.woken()), (0, 1));
                now(join).unwrap();
            }
            assert_eq!(sane.alive(), 0);
            home.assert_all_freed();
        }
    }
}

#[test]
fn a_panic_in_the_drop_of_the_slots_waker_is_contained() {
    for ending in ENDINGS {
        for when in ["before the end", "after the end", "in the wake"] {
            let (home, external) = (TestHome::new(), ExternalWaker::new());
            let (runnable, mut join) = home.task(async {});
            assert!(poll_with(&mut join, &external.waker()).is_pending());
            external.panic_in_drop.store(true, SeqCst);
            if when == "before the end" {
                drop(join);
                home.run(runnable, ending);
            } else if when == "after the end" {
                home.run(runnable, ending);
                drop(join);
            } else {
                // The handle is gone by then, so the completing thread has to drop the waker.
                *external.on_wake.lock().unwrap() = Some(Box::new(move || drop(join)));
                home.run(runnable, ending);
            }
            assert_eq!(external.alive(), 0, "{when}");
            home.assert_all_freed();
        }
    }
}
