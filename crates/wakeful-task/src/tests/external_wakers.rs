//! Wakers of somebody else's that panic: the task goes its way, and each waker is dropped once.

use super::home::{ENDINGS, RunResult, TestHome};
use super::probes::{Foreign, Tally, now, poll_with};
use crate::{JoinHandle, Outcome};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

/// Polls with a waker that panics on the way; the caller of the poll sees the panic.
#[track_caller]
fn poll_panics<T>(join: &mut JoinHandle<T>, foreign: &Arc<Foreign>) {
    let waker = foreign.waker();
    assert!(catch_unwind(AssertUnwindSafe(|| poll_with(join, &waker).is_ready())).is_err());
}

#[test]
fn a_panic_in_wake_does_not_reach_the_completing_side() {
    for ending in ENDINGS {
        let (home, foreign, outputs) = (TestHome::new(), Foreign::new(), Tally::default());
        foreign.panic_in_wake.store(true, SeqCst);
        let output = outputs.token();
        let (runnable, mut join) = home.task(async { output });
        assert!(poll_with(&mut join, &foreign.waker()).is_pending());
        assert_eq!(home.run(runnable, ending), RunResult::Ended(Outcome::Value));
        assert_eq!(foreign.woken(), 1);
        drop(now(&mut join).expect("the output is there all the same"));
        drop(join);
        assert_eq!((foreign.alive(), outputs.dropped()), (0, 1));
        home.assert_all_freed();
    }
}

#[test]
fn a_panic_in_the_clone_of_the_first_waker_leaves_the_slot_empty() {
    for ending in ENDINGS {
        let (home, foreign, sane) = (TestHome::new(), Foreign::new(), Foreign::new());
        foreign.panic_in_clone.store(true, SeqCst);
        let (runnable, mut join) = home.task(async {});
        poll_panics(&mut join, &foreign);
        assert_eq!(foreign.alive(), 0);
        assert!(poll_with(&mut join, &sane.waker()).is_pending());
        home.run(runnable, ending);
        assert_eq!((foreign.woken(), sane.woken()), (0, 1));
        drop(join);
        assert_eq!(sane.alive(), 0);
        home.assert_all_freed();
    }
}

#[test]
fn a_panic_in_the_clone_of_the_next_waker_leaves_the_one_before_in_place() {
    for ending in ENDINGS {
        for drop_join in [false, true] {
            let (home, sane, foreign) = (TestHome::new(), Foreign::new(), Foreign::new());
            foreign.panic_in_clone.store(true, SeqCst);
            let (runnable, mut join) = home.task(async {});
            assert!(poll_with(&mut join, &sane.waker()).is_pending());
            poll_panics(&mut join, &foreign);
            assert_eq!((sane.alive(), foreign.alive()), (1, 0));
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
            let (home, foreign, sane) = (TestHome::new(), Foreign::new(), Foreign::new());
            let (runnable, mut join) = home.task(async {});
            assert!(poll_with(&mut join, &foreign.waker()).is_pending());
            foreign.panic_in_drop.store(true, SeqCst);
            poll_panics(&mut join, &sane);
            assert_eq!((foreign.alive(), sane.alive()), (0, 1));
            if drop_join {
                drop(join);
                assert_eq!(sane.alive(), 0, "it goes with the handle, not with the task");
                home.run(runnable, ending);
            } else {
                home.run(runnable, ending);
                assert_eq!((foreign.woken(), sane.woken()), (0, 1));
                now(join).unwrap();
            }
            assert_eq!(sane.alive(), 0);
            home.assert_all_freed();
        }
    }
}

#[test]
fn a_panic_in_the_drop_of_the_slots_waker_reaches_nobody() {
    for ending in ENDINGS {
        for when in ["before the end", "after the end", "in the wake"] {
            let (home, foreign) = (TestHome::new(), Foreign::new());
            let (runnable, mut join) = home.task(async {});
            assert!(poll_with(&mut join, &foreign.waker()).is_pending());
            foreign.panic_in_drop.store(true, SeqCst);
            if when == "before the end" {
                drop(join);
                home.run(runnable, ending);
            } else if when == "after the end" {
                home.run(runnable, ending);
                drop(join);
            } else {
                // With the handle gone by then, the completing side has the waker to drop.
                *foreign.on_wake.lock().unwrap() = Some(Box::new(move || drop(join)));
                home.run(runnable, ending);
            }
            assert_eq!(foreign.alive(), 0, "{when}");
            home.assert_all_freed();
        }
    }
}
