//! A join handle that is polled or dropped while its task ends.

use super::{Case, assert_gone, join_all, model, wakes};
use crate::RunningTask;
use crate::tests::home::{ENDINGS, TestHome};
use crate::tests::probes::{ExternalWaker, Tally, now, poll_with};
use std::task::Poll;
use wakeful_base::sync::thread;

#[test]
fn a_handle_polled_with_changing_wakers_races_with_the_end() {
    for ending in ENDINGS {
        model(move || {
            let (home, outputs) = (TestHome::new(), Tally::default());
            let output = outputs.token();
            let (runnable, mut join) = home.task(async { output });
            let ends = home.clone();
            let other = thread::spawn(move || {
                ends.run(runnable, ending);
            });
            let wakers = [ExternalWaker::new(), ExternalWaker::new()];
            let mut waits_with = None;
            for external in &wakers {
                match poll_with(&mut join, &external.waker()) {
                    Poll::Pending => waits_with = Some(external),
                    Poll::Ready(result) => {
                        drop(result.expect("a value"));
                        waits_with = None;
                        break;
                    }
                }
            }
            other.join().unwrap();
            if let Some(external) = waits_with {
                assert_eq!(external.woken(), 1, "the one it waits with");
                drop(now(&mut join).unwrap());
            }
            assert!(wakers.iter().all(|external| external.woken() <= 1));
            drop(join);
            assert!(wakers.iter().all(|external| external.alive() == 0));
            assert_eq!(outputs.dropped(), 1);
            home.assert_all_freed();
        });
    }
}

#[test]
fn a_handle_polled_again_then_dropped_races_with_the_end() {
    for ending in ENDINGS {
        for same_waker in [false, true] {
            model(move || {
                let (home, outputs) = (TestHome::new(), Tally::default());
                let output = outputs.token();
                let (runnable, mut join) = home.task(async { output });
                let (first, second) = (ExternalWaker::new(), ExternalWaker::new());
                let waker = first.waker();
                assert!(poll_with(&mut join, &waker).is_pending());
                let ends = home.clone();
                let other = thread::spawn(move || {
                    ends.run(runnable, ending);
                });
                let again = if same_waker { waker.clone() } else { second.waker() };
                drop(poll_with(&mut join, &again));
                drop((join, waker, again));
                other.join().unwrap();
                assert_eq!((first.alive(), second.alive(), outputs.dropped()), (0, 0, 1));
                home.assert_all_freed();
            });
        }
    }
}

#[test]
fn a_handle_dropped_at_the_end_leaves_neither_output_nor_waker() {
    for ending in ENDINGS {
        for polled in [false, true] {
            model(move || {
                let (Case { home, gate, outputs, mut join, .. }, waker) = Case::about_to_end();
                let external = ExternalWaker::new();
                if polled {
                    assert!(poll_with(&mut join, &external.waker()).is_pending());
                }
                let other = thread::spawn(move || drop(join));
                drop(waker);
                home.run(home.pop().unwrap(), ending);
                other.join().unwrap();
                assert_eq!(external.alive(), 0);
                assert_gone(home, gate, outputs);
            });
        }
    }
}

#[test]
fn handle_waker_and_end_leave_nothing_whichever_is_last() {
    for ending in ENDINGS {
        model(move || {
            let (Case { home, gate, outputs, mut join, .. }, waker) = Case::about_to_end();
            let external = ExternalWaker::new();
            assert!(poll_with(&mut join, &external.waker()).is_pending());
            let threads = [thread::spawn(move || drop(join)), thread::spawn(move || drop(waker))];
            home.run(home.pop().unwrap(), ending);
            join_all(threads);
            assert_eq!(external.alive(), 0);
            assert_gone(home, gate, outputs);
        });
    }
}

#[test]
fn a_joining_task_races_with_the_end_whatever_was_in_the_slot() {
    for ending in ENDINGS {
        for task_first in [false, true] {
            model(move || {
                let home = TestHome::new();
                let (Case { home: joiners, gate, outputs, task: joiner, join: detached }, waker) =
                    Case::idle();
                drop(detached);
                let (runnable, mut join) = home.task(async {});
                let external = ExternalWaker::new();
                let other = external.waker();
                let wakers = if task_first { [&waker, &other] } else { [&other, &waker] };
                assert!(poll_with(&mut join, wakers[0]).is_pending());
                let ends = home.clone();
                let ending = thread::spawn(move || {
                    ends.run(runnable, ending);
                });
                let waits = poll_with(&mut join, wakers[1]).is_pending();
                ending.join().unwrap();
                let woken = [wakes(&joiners), external.woken()];
                let last = usize::from(task_first);
                if waits {
                    assert_eq!((woken[last], woken[1 - last]), (1, 0), "the last waiter is woken");
                }
                drop((join, other, waker));
                assert_eq!(external.alive(), 0);
                home.assert_all_freed();
                let finishing = match joiners.pop() {
                    Some(runnable) => runnable.cancel(),
                    // SAFETY: a task that has not ended is alive.
                    None => unsafe { RunningTask::claim_idle(joiner) }.expect("it waits").cancel(),
                };
                joiners.end(finishing, ENDINGS[0]);
                assert_gone(joiners, gate, outputs);
            });
        }
    }
}
