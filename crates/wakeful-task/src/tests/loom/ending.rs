//! Aborts and shutdowns that race with a wake-up, a poll, the end or each other.

use super::{Case, assert_gone, join_all, model, wakes};
use crate::tests::home::{ENDINGS, RunResult, TestHome};
use crate::tests::probes::now;
use crate::{Outcome, RunningTask, TaskRef};
use std::task::Waker;
use wakeful_base::sync::thread;

#[test]
fn an_abort_races_with_the_end() {
    for ending in ENDINGS {
        model(move || {
            let (Case { home, gate, outputs, join, .. }, waker) = Case::about_to_end();
            let (abort, polls) = (join.abort_handle(), gate.polls());
            let other = thread::spawn(move || {
                abort.abort();
                drop(abort);
            });
            drop(waker);
            let run = home.run(home.pop().unwrap(), ending);
            other.join().unwrap();
            assert_eq!(wakes(&home), 1);
            match now(join) {
                Ok(_) => assert_eq!(run, RunResult::Ended(Outcome::Value)),
                Err(error) => {
                    assert!(error.is_cancelled() && gate.polls() == polls);
                    assert_eq!(run, RunResult::Ended(Outcome::Cancelled));
                }
            }
            assert_gone(home, gate, outputs);
        });
    }
}

#[test]
fn an_abort_and_a_wake_give_one_entry() {
    model(|| {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::idle();
        let abort = join.abort_handle();
        join_all([thread::spawn(move || abort.abort()), thread::spawn(move || waker.wake())]);
        assert_eq!((wakes(&home), home.queued()), (1, 1));
        gate.open();
        assert_eq!(home.run_one(), RunResult::Ended(Outcome::Cancelled));
        drop(join);
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn an_abort_and_a_wake_race_with_a_poll() {
    model(|| {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::idle();
        waker.wake_by_ref();
        let abort = join.abort_handle();
        let threads = [thread::spawn(move || abort.abort()), thread::spawn(move || waker.wake())];
        home.run_all();
        join_all(threads);
        home.run_all();
        assert!(now(join).err().expect("the gate is shut").is_cancelled());
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn shutdown_and_a_wake_give_the_task_to_one_of_them() {
    model(|| {
        let (Case { home, gate, outputs, task, join }, waker) = Case::idle();
        let other = thread::spawn(move || waker.wake());
        // SAFETY: `join` keeps the task alive.
        let claimed = unsafe { RunningTask::claim_idle(task) };
        let was_claimed = claimed.is_some();
        if let Some(running) = claimed {
            home.end(running.cancel(), ENDINGS[0]);
        }
        other.join().unwrap();
        assert_eq!(home.queued(), usize::from(!was_claimed));
        if let Some(runnable) = home.pop() {
            home.end(runnable.cancel(), ENDINGS[1]);
        }
        assert!(now(join).err().expect("shut down").is_cancelled());
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn shutdown_races_with_a_poll_and_an_abort() {
    model(|| {
        let (Case { home, gate, outputs, task, join }, waker) = Case::idle();
        waker.wake();
        let (runs, abort) = (home.clone(), join.abort_handle());
        let polling = thread::spawn(move || {
            runs.run_one();
        });
        let aborting = thread::spawn(move || abort.abort());
        // SAFETY: `join` keeps the task alive.
        if let Some(running) = unsafe { RunningTask::claim_idle(task) } {
            home.end(running.cancel(), ENDINGS[0]);
        }
        join_all([polling, aborting]);
        home.run_all();
        assert!(now(join).err().expect("aborted or shut down").is_cancelled());
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn two_shutdowns_claim_a_task_once() {
    model(|| {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::idle();
        let claim = |home: &TestHome, waker: Waker| {
            let task = TaskRef::new(waker.data().cast_mut().cast()).unwrap();
            // SAFETY: the waker keeps the task alive.
            let claimed = unsafe { RunningTask::claim_idle(task) };
            claimed.map(|running| home.end(running.cancel(), ENDINGS[0])).is_some()
        };
        let (ends, second) = (home.clone(), waker.clone());
        let other = thread::spawn(move || claim(&ends, second));
        let here = claim(&home, waker);
        assert!(here ^ other.join().unwrap(), "exactly one");
        drop(join);
        assert_gone(home, gate, outputs);
    });
}
