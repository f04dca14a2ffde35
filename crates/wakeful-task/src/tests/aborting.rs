//! Abort and shutdown: the future is dropped once, instead of its next poll, and nothing is
//! scheduled twice.

use super::home::{ENDINGS, RunResult, TestHome};
use super::probes::{ExternalWaker, Gate, Tally, now, poll_with};
use crate::{AbortHandle, Outcome, Polled, RunningTask};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::Poll;

#[test]
fn a_task_aborted_before_its_first_poll_is_never_polled() {
    for ending in ENDINGS {
        let (home, gate, outputs) = (TestHome::new(), Gate::default(), Tally::default());
        let join = home.spawn(gate.then(outputs.token()));
        let id = join.id();
        join.abort();
        join.abort();
        assert_eq!((home.schedule_calls(), home.queued()), (0, 1), "it has its entry");
        assert_eq!((outputs.dropped(), join.is_finished()), (0, false), "not before its poll");
        assert_eq!(home.run(home.pop().unwrap(), ending), RunResult::Ended(Outcome::Cancelled));
        assert_eq!((gate.polls(), outputs.dropped()), (0, 1));
        let error = now(join).err().expect("cancelled");
        assert!(error.is_cancelled() && !error.is_panic() && error.id() == id);
        home.assert_all_freed();
    }
}

#[test]
fn aborting_an_idle_task_schedules_it_once() {
    let (home, gate, outputs) = (TestHome::new(), Gate::default(), Tally::default());
    let (join, external) = (&mut home.spawn(gate.then(outputs.token())), ExternalWaker::new());
    home.run_one();
    assert!(poll_with(join, &external.waker()).is_pending());
    let waker = gate.take_waker();
    join.abort();
    waker.wake_by_ref();
    join.abort_handle().abort();
    assert_eq!((home.schedule_calls(), home.queued()), (1, 1));
    gate.open();
    assert_eq!(
        home.run_one(),
        RunResult::Ended(Outcome::Cancelled),
        "an abort comes before a wake"
    );
    assert_eq!((gate.polls(), outputs.dropped(), external.woken()), (1, 1, 1));
    assert!(now(join).err().unwrap().is_cancelled());
    waker.wake();
    assert_eq!(home.queued(), 0);
}

#[test]
fn an_abort_reaches_a_task_that_was_woken_first() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let join = home.spawn(gate.then(()));
    home.run_one();
    gate.open();
    gate.take_waker().wake();
    join.abort();
    assert_eq!(home.queued(), 1);
    assert_eq!(home.run_one(), RunResult::Ended(Outcome::Cancelled));
    assert!(now(join).unwrap_err().is_cancelled());
    home.assert_all_freed();
}

#[test]
fn an_abort_still_holds_when_all_handles_are_gone() {
    // With only the scheduler's reference left, the end takes a shorter path.
    let (home, gate) = (TestHome::new(), Gate::default());
    let join = home.spawn(gate.then(()));
    join.abort();
    drop(join);
    assert_eq!(home.run_one(), RunResult::Ended(Outcome::Cancelled));
    assert_eq!(gate.polls(), 0);
    home.assert_all_freed();
}

/// Runs a task that aborts itself in its only poll, which returns `last`.
fn aborts_itself(last: Poll<u8>) -> (Arc<TestHome>, crate::JoinHandle<u8>, RunResult) {
    let (home, own) = (TestHome::new(), Arc::new(Mutex::new(None::<AbortHandle>)));
    let (seen, mut polled) = (own.clone(), false);
    let join = home.spawn(poll_fn(move |_| {
        assert!(!std::mem::replace(&mut polled, true), "polled after the abort");
        seen.lock().unwrap().take().unwrap().abort();
        last
    }));
    *own.lock().unwrap() = Some(join.abort_handle());
    let run = home.run_one();
    (home, join, run)
}

#[test]
fn an_abort_during_the_poll_waits_for_its_end() {
    let (home, join, run) = aborts_itself(Poll::Pending);
    assert_eq!((run, home.schedule_calls()), (RunResult::Again, 0), "the poller has the entry");
    assert_eq!(home.run_one(), RunResult::Ended(Outcome::Cancelled));
    assert!(now(join).unwrap_err().is_cancelled());
    home.assert_all_freed();
}

#[test]
fn an_abort_during_the_last_poll_comes_too_late() {
    let (home, join, run) = aborts_itself(Poll::Ready(9));
    assert_eq!((run, home.queued()), (RunResult::Ended(Outcome::Value), 0));
    assert_eq!(now(join).unwrap(), 9);
    home.assert_all_freed();
}

#[test]
fn an_abort_between_the_last_poll_and_the_completion_comes_too_late() {
    for ending in ENDINGS {
        let home = TestHome::new();
        let (runnable, join) = home.task(async { 9 });
        let Polled::Ended(finishing) = runnable.run() else { panic!("it is ready at once") };
        join.abort();
        assert!(!join.is_finished());
        home.end(finishing, ending);
        assert_eq!((home.queued(), join.is_finished()), (0, true));
        assert_eq!(now(join).unwrap(), 9);
        home.assert_all_freed();
    }
}

#[test]
fn an_abort_after_the_end_changes_nothing() {
    let home = TestHome::new();
    let join = home.spawn(async { 3 });
    home.run_all();
    let abort = join.abort_handle();
    join.abort();
    abort.abort();
    assert_eq!((home.schedule_calls(), home.queued()), (0, 0));
    assert!(abort.is_finished() && abort.id() == join.id());
    assert_eq!(now(join).unwrap(), 3);
    abort.clone().abort();
    assert_eq!(home.cells_freed(), 0);
    drop(abort);
    home.assert_all_freed();
}

#[test]
fn an_abort_in_the_drop_of_the_aborted_future_does_nothing() {
    struct AbortsInDrop(Arc<Mutex<Option<AbortHandle>>>);
    impl Drop for AbortsInDrop {
        fn drop(&mut self) {
            self.0.lock().unwrap().take().unwrap().abort();
        }
    }
    let (home, own) = (TestHome::new(), Arc::new(Mutex::new(None)));
    let guard = AbortsInDrop(own.clone());
    let join = home.spawn(async move { drop(guard) });
    *own.lock().unwrap() = Some(join.abort_handle());
    join.abort();
    assert_eq!(home.run_one(), RunResult::Ended(Outcome::Cancelled));
    assert_eq!((home.schedule_calls(), home.queued()), (0, 0));
    assert!(now(join).unwrap_err().is_cancelled());
    home.assert_all_freed();
}

#[test]
fn an_entry_may_be_cancelled_instead_of_run() {
    for (ending, detached) in [(ENDINGS[0], false), (ENDINGS[1], false), (ENDINGS[0], true)] {
        let (home, gate, outputs) = (TestHome::new(), Gate::default(), Tally::default());
        let (runnable, join) = home.task(gate.then(outputs.token()));
        let join = (!detached).then_some(join);
        home.end(runnable.cancel(), ending);
        assert_eq!((gate.polls(), outputs.dropped()), (0, 1));
        if let Some(join) = join {
            assert!(now(join).err().unwrap().is_cancelled());
        }
        home.assert_all_freed();
    }
}

#[test]
fn shutdown_claims_idle_tasks_only() {
    let (home, gate, outputs) = (TestHome::new(), Gate::default(), Tally::default());
    let (runnable, join) = home.task(gate.then(outputs.token()));
    let task = runnable.into_raw();
    // SAFETY: `join` keeps the task alive.
    let claim = || unsafe { RunningTask::claim_idle(task) };

    assert!(claim().is_none(), "scheduled");
    // SAFETY: from `into_raw` above.
    let Polled::Pending(running) = (unsafe { crate::Runnable::from_raw(task) }).run() else {
        panic!("the gate is shut")
    };
    assert!(claim().is_none(), "running");
    assert!(running.idle().is_none());
    let waker = gate.take_waker();
    let claimed = claim().expect("it waits");
    assert!(claim().is_none(), "claimed");

    waker.wake();
    join.abort();
    assert_eq!(home.queued(), 0, "a claimed task stays with the thread that claimed it");
    assert_eq!(home.end(claimed.cancel(), ENDINGS[0]), RunResult::Ended(Outcome::Cancelled));
    assert_eq!((gate.polls(), outputs.dropped()), (1, 1));
    assert!(claim().is_none(), "complete");
    assert!(now(join).err().unwrap().is_cancelled());
    home.assert_all_freed();
}

#[test]
fn shutdown_ends_every_task_and_wakes_their_join_handles() {
    let (home, external, outputs) = (TestHome::new(), ExternalWaker::new(), Tally::default());
    let gates = [Gate::default(), Gate::default(), Gate::default()];
    let mut joins: Vec<_> =
        gates.iter().map(|gate| home.spawn(gate.then(outputs.token()))).collect();
    home.run_all();
    gates[1].take_waker().wake();
    for join in &mut joins {
        assert!(poll_with(join, &external.waker()).is_pending());
    }
    home.shut_down();
    assert_eq!((external.woken(), outputs.dropped()), (3, 3));
    assert!(joins.into_iter().all(|join| now(join).err().unwrap().is_cancelled()));
    drop(gates);
    assert_eq!(external.alive(), 0);
    home.assert_all_freed();
}
