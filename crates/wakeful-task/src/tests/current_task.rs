//! The current task of a thread, and the record of what a task waits for.

use super::home::{ENDINGS, RunResult, TestHome};
use super::probes::{Gate, now};
use crate::{CompletedTask, Id, Outcome, Phase, Polled, Retained, id, new_task, try_id};
use std::future::poll_fn;
use std::panic::{Location, catch_unwind};
use std::ptr;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::Waker;
use wakeful_base::waiting::{Asking, WaitKind, note, take_answers};

/// Records the id of the current task when dropped.
struct NotesId(Arc<Mutex<Vec<Option<Id>>>>);

impl Drop for NotesId {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(try_id());
    }
}

#[test]
fn a_task_knows_its_id_in_its_poll_and_drops() {
    for ending in ENDINGS {
        for joined in [false, true] {
            let (home, seen) = (TestHome::new(), Arc::default());
            let (future, output) = (NotesId(Arc::clone(&seen)), NotesId(Arc::clone(&seen)));
            let (runnable, join) = home.task(async move {
                future.0.lock().unwrap().push(Some(id()));
                drop(future);
                output
            });
            let expected = Some(join.id());
            let join = joined.then_some(join);
            home.run(runnable, ending);
            drop(join);
            assert_eq!(*seen.lock().unwrap(), [expected; 3]);
            assert_eq!(try_id(), None);
        }
    }
}

#[test]
fn an_aborted_task_knows_its_id_while_its_future_is_dropped() {
    let (home, seen) = (TestHome::new(), Arc::default());
    let future = NotesId(Arc::clone(&seen));
    let join = home.spawn(async move { drop(future) });
    join.abort();
    home.run_one();
    assert_eq!(*seen.lock().unwrap(), [Some(join.id())]);
}

#[test]
fn a_task_is_current_again_after_one_that_ran_inside_its_poll() {
    let (outer, inner) = (TestHome::new(), TestHome::new());
    let inner_join = inner.spawn(async { id() });
    let join = outer.spawn(async move {
        let before = id();
        assert_eq!(inner.run_one(), RunResult::Ended(Outcome::Value));
        let within = now(inner_join).unwrap();
        (before, within, id())
    });
    let expected = join.id();
    outer.run_one();
    let (before, within, after) = now(join).unwrap();
    assert_eq!((before, after), (expected, expected));
    assert_ne!(within, expected);
}

#[test]
fn there_is_no_current_task_after_a_panic_nor_outside() {
    let home = TestHome::new();
    drop(home.spawn(async { super::probes::quiet_panic(0) }));
    home.run_one();
    assert_eq!(try_id(), None);
    let message = catch_unwind(id).unwrap_err();
    let message = message.downcast_ref::<String>().expect("a formatted text");
    assert!(message.contains("outside of a task"), "{message}");
}

#[test]
fn ids_are_never_given_twice() {
    let threads: Vec<_> = (0..4)
        .map(|_| std::thread::spawn(|| (0..1000).map(|_| Id::next().as_u64()).collect::<Vec<_>>()))
        .collect();
    let mut ids: Vec<u64> = threads.into_iter().flat_map(|ids| ids.join().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4000);
}

#[test]
fn what_a_task_waits_for_is_noted_until_it_is_queued() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let mut inner = Box::pin(gate.then(()));
    let (runnable, join) = home.task(poll_fn(move |cx| {
        note(WaitKind::IoRead, 42, cx.waker());
        inner.as_mut().poll(cx)
    }));
    assert_eq!(runnable.slot().waits(), None);
    let line = runnable.spawned_at().line();
    assert!(runnable.spawned_at().file().ends_with("current_task.rs") && line > 90, "{line}");
    assert!(runnable.type_name().contains("PollFn"), "{}", runnable.type_name());
    home.run(runnable, ENDINGS[0]);
    gate.take_waker().wake();
    let runnable = home.pop().unwrap();
    let noted = runnable.slot().waits().expect("noted");
    assert_eq!((noted.kind, noted.detail), (WaitKind::IoRead, 42));
    // A queue stores its link in the same word.
    runnable.queue_next().store(ptr::null_mut(), SeqCst);
    assert_eq!(runnable.slot().waits(), None);
    home.end(runnable.cancel(), ENDINGS[0]);
    drop(join);
    home.assert_all_freed();
}

#[test]
fn an_asked_task_answers_with_the_leaves_of_its_next_poll() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let mut inner = Box::pin(gate.then(()));
    let polls = Arc::new(Mutex::new(0));
    let counted = polls.clone();
    let (runnable, join) = home.task(poll_fn(move |cx| {
        *counted.lock().unwrap() += 1;
        note(WaitKind::Notify, 5, cx.waker());
        note(WaitKind::Time, 6, cx.waker());
        inner.as_mut().poll(cx)
    }));
    let id = runnable.id().as_u64();
    // SAFETY: `join` keeps the task alive.
    let task = unsafe { Retained::new(runnable.task()) };
    assert_eq!((task.phase(), task.has_join_handle()), (Phase::Active, true));
    home.run(runnable, ENDINGS[0]);
    assert_eq!(task.phase(), Phase::Idle);
    // The gate's waker and `task`.
    assert_eq!(task.other_refs(), 2);
    let asking = Asking::begin();
    let answers = || {
        let mut answers = take_answers();
        answers.retain(|&(of, _)| of == id);
        answers
    };
    for expected in 2..4 {
        task.ask();
        task.ask();
        assert!(answers().is_empty());
        home.run_one();
        assert_eq!(*polls.lock().unwrap(), expected, "two asks before a poll are one");
        let answers = answers();
        assert_eq!(answers.len(), 1);
        let kinds: Vec<_> = answers[0].1.leaves.iter().map(|leaf| leaf.kind).collect();
        assert_eq!(kinds, [WaitKind::Notify, WaitKind::Time]);
        assert!(answers[0].1.leaves.iter().all(|leaf| leaf.has_own_waker));
    }
    gate.take_waker().wake();
    home.run_one();
    assert!(answers().is_empty(), "it was not asked");
    task.ask();
    gate.open();
    home.run_one();
    assert!(answers().is_empty(), "it has ended");
    assert_eq!(task.phase(), Phase::Complete);
    task.ask();
    drop((task, asking, gate.take_waker()));
    now(join).unwrap();
    home.assert_all_freed();
}

#[test]
fn the_drop_of_an_output_leaves_a_complete_tasks_link_alone() {
    struct PollsInDrop;
    impl Drop for PollsInDrop {
        fn drop(&mut self) {
            assert!(try_id().is_some());
            note(WaitKind::Time, 3, Waker::noop());
        }
    }
    let home = TestHome::new();
    // SAFETY: the cell has its count of the home, and everything is `Send`.
    let (runnable, join) = unsafe {
        new_task(async { PollsInDrop }, home.for_a_cell(), Id::next(), Location::caller())
    };
    let Polled::Ended(finishing) = runnable.run() else { panic!("it is ready at once") };
    let done = finishing.complete_keeping_ref();
    // As a queue of complete tasks does.
    let neighbour = ptr::without_provenance_mut(64);
    // SAFETY: `done` keeps the task alive.
    let link = unsafe { done.task().as_ref() }.queue_next();
    link.store(neighbour, SeqCst);
    drop(join);
    assert_eq!(link.load(SeqCst), neighbour);
    drop::<CompletedTask>(done);
    home.assert_all_freed();
}

#[test]
fn what_a_joining_task_waits_for_is_the_other_task() {
    let (home, gate) = (TestHome::new(), Gate::default());
    let inner = home.spawn(gate.then(()));
    let other = inner.id();
    home.run_one();
    let (runnable, join) = home.task(async move { inner.await.unwrap() });
    let Polled::Pending(running) = runnable.run() else { panic!("the gate is shut") };
    // SAFETY: `join` keeps the task alive.
    let noted = unsafe { running.task().as_ref() }.slot().waits().expect("noted");
    assert_eq!((noted.kind, noted.detail), (WaitKind::Task, other.as_u64()));
    assert!(running.idle().is_none());
    gate.open();
    gate.take_waker().wake();
    home.run_all();
    now(join).unwrap();
    home.assert_all_freed();
}
