//! Wake-ups that race with each other, a poll, the end, or a change of the task's home.

use super::{Case, assert_gone, join_all, model, wakes};
use crate::tests::home::{ENDINGS, RunResult, TestHome};
use crate::tests::probes::{Gate, now};
use crate::{AbortHandle, JoinHandle, Outcome, Polled};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use wakeful_base::sync::atomic::{AtomicBool, Ordering::Relaxed};
use wakeful_base::sync::{Mutex, thread};

/// Wakes a task during a poll. The task sees the earlier writes of the waking thread, and ends.
fn wake_during_poll(wake: fn(Waker), detached: bool) {
    model(move || {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::idle();
        // Without a handle, the task may start and end on shorter paths.
        let join = (!detached).then_some(join);
        waker.wake_by_ref();
        let open = gate.clone();
        let other = thread::spawn(move || {
            open.open();
            wake(waker);
        });
        home.run_all();
        other.join().unwrap();
        home.run_all();
        let ended = join.as_ref().map_or(outputs.dropped() == 1, JoinHandle::is_finished);
        assert!(ended, "a wake-up was lost, or the poll did not see what came before");
        drop(join);
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn a_wake_by_value_is_never_lost() {
    for detached in [false, true] {
        wake_during_poll(Waker::wake, detached);
    }
}

#[test]
fn a_wake_by_reference_is_never_lost() {
    for detached in [false, true] {
        wake_during_poll(|waker| waker.wake_by_ref(), detached);
    }
}

#[test]
fn two_wakes_give_one_entry_and_the_poll_sees_what_came_before_both() {
    model(|| {
        let (home, flags) = (TestHome::new(), Arc::new([(); 2].map(|()| AtomicBool::new(false))));
        let (seen, gate) = (flags.clone(), Gate::default());
        let mut wait = Box::pin(gate.then(()));
        let join = home.spawn(poll_fn(move |cx| match wait.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready([0, 1].map(|at| seen[at].load(Relaxed))),
            Poll::Pending => Poll::Pending,
        }));
        home.run_one();
        let waker = gate.take_waker();
        gate.open();
        let threads = [0, 1].map(|at| {
            let (flags, waker) = (flags.clone(), waker.clone());
            thread::spawn(move || {
                flags[at].store(true, Relaxed);
                // One by value, one by reference.
                if at == 0 { waker.wake() } else { waker.wake_by_ref() }
            })
        });
        join_all(threads);
        assert_eq!((home.schedule_calls(), home.queued()), (1, 1));
        home.run_one();
        assert_eq!(now(join).unwrap(), [true, true]);
        drop((waker, gate));
        home.assert_all_freed();
    });
}

#[test]
fn two_wakes_during_a_poll_lose_nothing() {
    model(|| {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::idle();
        waker.wake_by_ref();
        let (open, second) = (gate.clone(), waker.clone());
        let idle = thread::spawn(move || second.wake());
        let opening = thread::spawn(move || {
            open.open();
            waker.wake();
        });
        home.run_all();
        join_all([idle, opening]);
        home.run_all();
        assert!(join.is_finished());
        drop(join);
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn a_task_that_yields_has_one_entry_and_sees_what_came_before() {
    model(|| {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::idle();
        waker.wake_by_ref();
        let (open, second) = (gate.clone(), waker.clone());
        let threads = [
            thread::spawn(move || second.wake()),
            thread::spawn(move || {
                open.open();
                waker.wake_by_ref();
            }),
        ];
        match home.pop().unwrap().run() {
            Polled::Pending(running) => {
                let again = running.requeue();
                join_all(threads);
                assert_eq!((home.queued(), wakes(&home)), (0, 1));
                assert_eq!(home.run(again, ENDINGS[0]), RunResult::Ended(Outcome::Value));
            }
            Polled::Ended(ended) => {
                home.end(ended, ENDINGS[0]);
                join_all(threads);
            }
        }
        drop(join);
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn a_task_that_yields_may_continue_on_another_thread() {
    model(|| {
        let Case { home, gate, outputs, join, .. } = Case::scheduled();
        let (runnable, elsewhere) = (home.pop().unwrap(), home.clone());
        // A queue that orders memory accesses, as every queue must: the state word does not change
        // here.
        let queue = Arc::new(Mutex::new(None));
        let taken = queue.clone();
        let other = thread::spawn(move || {
            let entry = taken.lock().take();
            if let Some(runnable) = entry {
                elsewhere.run(runnable, ENDINGS[0]);
            }
        });
        let Polled::Pending(running) = runnable.run() else { panic!("the gate is shut") };
        gate.open();
        *queue.lock() = Some(running.requeue());
        other.join().unwrap();
        let left = queue.lock().take();
        if let Some(runnable) = left {
            home.run(runnable, ENDINGS[0]);
        }
        drop(join);
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn an_abort_of_a_task_that_yields_is_not_lost() {
    model(|| {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::idle();
        waker.wake();
        let abort = join.abort_handle();
        let other = thread::spawn(move || abort.abort());
        match home.pop().unwrap().run() {
            Polled::Pending(running) => {
                let again = running.requeue();
                other.join().unwrap();
                assert_eq!(home.queued(), 0);
                assert_eq!(home.run(again, ENDINGS[0]), RunResult::Ended(Outcome::Cancelled));
            }
            Polled::Ended(ended) => {
                home.end(ended, ENDINGS[0]);
                other.join().unwrap();
            }
        }
        drop(join);
        assert_gone(home, gate, outputs);
    });
}

#[test]
fn a_wake_by_value_that_races_with_the_end_schedules_nothing_and_frees_once() {
    for ending in ENDINGS {
        model(move || {
            let (Case { home, gate, outputs, join, .. }, waker) = Case::about_to_end();
            let threads = [thread::spawn(move || waker.wake()), thread::spawn(move || drop(join))];
            let run = home.run(home.pop().unwrap(), ending);
            assert_eq!(run, RunResult::Ended(Outcome::Value));
            join_all(threads);
            assert_eq!(wakes(&home), 1);
            assert_gone(home, gate, outputs);
        });
    }
}

#[test]
fn the_last_of_waker_and_end_frees_the_task() {
    for ending in ENDINGS {
        model(move || {
            let (Case { home, gate, outputs, join, .. }, waker) = Case::about_to_end();
            drop(join);
            // If the waker is dropped early, the task starts and ends on shorter paths.
            let other = thread::spawn(move || drop(waker));
            home.run(home.pop().unwrap(), ending);
            other.join().unwrap();
            assert_gone(home, gate, outputs);
        });
    }
}

#[test]
fn a_task_that_changes_its_home_is_scheduled_at_the_new_one() {
    change_home(|waker, _| waker.wake());
    change_home(|waker, _| waker.wake_by_ref());
    change_home(|_, abort| abort.abort());
}

fn change_home(ask: fn(Waker, AbortHandle)) {
    model(move || {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::idle();
        waker.wake_by_ref();
        let abort = join.abort_handle();
        let other = thread::spawn(move || ask(waker, abort));
        let second = TestHome::new();
        let running = match home.pop().unwrap().run() {
            Polled::Pending(running) => running,
            Polled::Ended(aborted) => {
                home.end(aborted, ENDINGS[0]);
                other.join().unwrap();
                return;
            }
        };
        // SAFETY: both homes have the same type. The new one has a count for the cell, and the old
        // one's count is dropped.
        unsafe {
            let old = running.home::<TestHome>();
            running.set_home(second.for_a_cell());
            drop(Arc::from_raw(old.as_ptr().cast_const()));
        }
        let again = running.idle();
        other.join().unwrap();
        // Woken before the poll started, during it, or afterwards.
        let runnable = again.or_else(|| second.pop());
        assert_eq!((home.queued(), wakes(&home)), (0, 1));
        gate.open();
        let runnable = runnable.unwrap_or_else(|| {
            gate.take_waker().wake();
            second.pop().expect("scheduled at the new home")
        });
        home.run(runnable, ENDINGS[0]);
        drop((join, gate));
        assert_eq!((outputs.dropped(), home.cells_freed(), second.cells_freed()), (1, 0, 1));
    });
}

#[test]
fn a_retained_task_is_freed_by_its_last_reference() {
    model(|| {
        let (Case { home, gate, outputs, join, .. }, waker) = Case::about_to_end();
        drop((join, waker));
        let (runnable, freed) = (home.pop().unwrap(), home.clone());
        let other = thread::spawn(move || {
            let retained = runnable.retain();
            runnable.schedule();
            assert_eq!(freed.cells_freed(), 0);
            drop(retained);
        });
        home.run_all();
        other.join().unwrap();
        home.run_all();
        assert_gone(home, gate, outputs);
    });
}
