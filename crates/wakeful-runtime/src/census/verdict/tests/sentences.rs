//! What the verdicts say.

use super::builder::*;
use crate::census::snapshot::*;
use crate::census::verdict::{Names, Verdict, find, push_duration, push_wait};
use std::time::Duration;
use wakeful_base::waiting::{WAIT_KINDS, WaitKind};

#[track_caller]
fn only(snapshot: &Snapshot) -> Verdict {
    let found = find(snapshot, Names::default()).verdicts;
    let [verdict] = <[Verdict; 1]>::try_from(found).unwrap();
    verdict
}

#[track_caller]
fn assert_text(snapshot: &Snapshot, text: &str) {
    assert_eq!(only(snapshot).text, text);
}

#[test]
fn a_cycle_names_each_actor_and_object() {
    let actors = vec![main_waits([join(1)]), task(1, [mutex(A, 2)]), task(2, [mutex(B, 1)])];
    assert_text(
        &world(actors),
        "task 1 waits for mutex 1, which is held by task 2, which waits for mutex 2, which is held by \
         task 1; 1 more waits for this. Acquire in the same order everywhere, or release before \
         waiting",
    );
}

#[test]
fn a_cycle_of_one() {
    assert_text(
        &world(vec![task(1, [mutex(A, 1)])]),
        "task 1 waits for mutex 1, which is held by itself. Drop the guard before acquiring again",
    );
    assert_text(
        &world(vec![task(1, [join(1)])]),
        "task 1 waits for the end of itself. No task can end: one of them must not wait for the others",
    );
    assert_text(
        &world(vec![task(1, [granted(A, 1)])]),
        "task 1 waits for mutex 1, which was granted to another of its futures, which it does not \
         poll. Poll the future that has the lock, or drop it, before waiting for the lock again",
    );
}

#[test]
fn a_mixed_cycle() {
    let actors = vec![task(1, [send(B, 2)]), task(2, [join(3)]), task(3, [mutex(A, 1)])];
    assert_text(
        &world(actors),
        "task 1 waits for room in mpsc channel 1, whose receiver is with task 2, which waits for the \
         end of task 3, which waits for mutex 2, which is held by task 1. Acquire in the same order \
         everywhere, or release before waiting",
    );
}

#[test]
fn a_reader_behind_a_writer() {
    let wants = |kind| with(leaf(kind, A), |it| it.waiting = Some(2));
    let actors =
        vec![task(1, [wants(WaitKind::RwLockRead)]), task(2, [wants(WaitKind::RwLockWrite)])];
    assert_text(
        &watched(actors, vec![held(A, 1, 1)]),
        "task 1 waits for a read lock of rwlock 1, queued behind task 2, which waits for the write \
         lock of rwlock 1, which is held by task 1. Acquire in the same order everywhere, or release \
         before waiting",
    );
}

#[test]
fn long_lists_are_cut() {
    let actors = (1..=20).map(|id| task(id, [leaf(WaitKind::Notify, A)])).collect();
    let text = only(&world(actors)).text;
    assert!(text.contains("task 8 waits for a notification of notify 1; and 12 more. "), "{text}");
}

#[test]
fn a_lock_whose_holder_is_not_recorded() {
    let actors = vec![main_waits([leaf(WaitKind::Mutex, A)])];
    assert_text(
        &world(actors),
        "thread \"main\" waits for mutex 1. All other tasks and threads wait, too, so nothing is \
         released; `WAKEFUL_CONSOLE=watch` records the holders from the start. Acquire in the same \
         order everywhere, or release before waiting",
    );
}

#[test]
fn a_blocked_worker_says_what_the_system_says() {
    let mut snapshot = world(vec![running(1), queued(2)]);
    snapshot.workers.push(WorkerState {
        runtime: RUNTIME,
        index: 3,
        task: Some(1),
        stuck_for: Some(Duration::from_millis(3210)),
        thread: Some("thread 7, in system call 202, `futex`".into()),
    });
    assert_text(
        &snapshot,
        "runtime 1 has a blocked worker: task 1 has blocked worker 3 for 3.2 s (thread 7, in system \
         call 202, `futex`); 1 other task is queued. Use `spawn_blocking` for calls that block, and \
         `.await` instead of blocking locks",
    );
}

#[test]
fn a_runtime_is_called_by_its_name() {
    let mut snapshot = world(vec![main_waits([join(1)]), queued(1)]);
    let name = Some("db".into());
    let rest = runtime(RUNTIME, Flavor::CurrentThread);
    snapshot.runtimes[0] = RuntimeState { is_driven: false, name, ..rest };
    assert_text(
        &snapshot,
        "no thread drives current-thread runtime 1 \"db\": task 1 cannot go on; 1 more waits for this. \
         Call `block_on` of the runtime, or `run_until` of the set",
    );
}

#[test]
fn objects_keep_their_names() {
    let mut names = Names::default();
    assert_eq!((names.number(B), names.number(A), names.number(B)), (1, 2, 1));
    for kind in WAIT_KINDS {
        let mut text = String::new();
        push_wait(&mut text, kind, A, &mut names);
        assert!(!text.is_empty() && !text.contains("object"), "{kind:?}: {text}");
    }
}

#[test]
fn durations() {
    let print = |duration: Duration| {
        let mut text = String::new();
        push_duration(&mut text, duration);
        text
    };
    assert_eq!(print(Duration::from_micros(2_149)), "2.1 ms");
    assert_eq!(print(Duration::from_micros(999_999)), "999.9 ms");
    assert_eq!(print(Duration::from_millis(1_000)), "1.0 s");
    assert_eq!(print(Duration::from_secs(100_000)), "100000.0 s");
}
