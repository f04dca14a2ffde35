//! Snapshots of programs that go on, and look as if they did not.

use super::builder::*;
use crate::census::snapshot::*;
use crate::census::verdict::Grade::*;
use crate::census::verdict::VerdictKind::*;
use std::time::Duration;
use wakeful_base::waiting::{Holder, WaitKind, Waits};

fn abba() -> Vec<Actor> {
    vec![task(1, [mutex(A, 2)]), task(2, [mutex(B, 1)])]
}

#[test]
fn select_of_a_lock_and_a_timeout() {
    let mut actors = abba();
    actors[0] = task(1, [mutex(A, 2), time()]);
    assert_nothing(&world(actors));
}

#[test]
fn a_poll_a_moment_ago() {
    let mut actors = abba();
    actors[1].unchanged_for = Duration::from_millis(99);
    assert_nothing(&world(actors.clone()));
    actors[1].unchanged_for = Duration::from_millis(100);
    assert_found(&world(actors), &[(Deadlock, Certain, &[1, 2], 0)]);
}

#[test]
fn an_owned_guard_in_another_task() {
    let owned = Holder { is_owned: true, ..held_by(1) };
    let waits = with(leaf(WaitKind::Mutex, A), |it| it.holder = Some(owned));
    // The guard may be with task 2, which sleeps.
    let actors = vec![task(1, [waits.clone()]), task(2, [time()])];
    assert_found(&world(actors), &[(SelfDeadlock, Likely, &[1], 0)]);
    // No other actor could have it.
    let asleep = vec![task(1, [waits]), task(2, [leaf(WaitKind::Notify, B)])];
    assert_found(&world(asleep), &[(SelfDeadlock, Certain, &[1], 0)]);
}

#[test]
fn a_holder_that_has_ended_or_is_not_known() {
    // Task 9 is gone: its guard was moved to some other actor.
    assert_nothing(&world(vec![task(1, [mutex(A, 9)]), task(2, [time()])]));
    // Acquired by no task.
    assert_nothing(&world(vec![task(1, [mutex(A, 0)]), task(2, [time()])]));
    // Two actors with the same low bits, one of which goes on.
    let twin = Actor { id: 1 | 1 << 32, ..task(1, [time()]) };
    assert_nothing(&world(vec![task(1, [mutex(A, 1)]), twin]));
}

#[test]
fn an_answer_from_another_thread() {
    for kind in [WaitKind::OneshotRecv, WaitKind::Notify, WaitKind::Barrier, WaitKind::Watch] {
        let actors = vec![main_waits([leaf(kind, A)]), task(1, [leaf(kind, A)])];
        let mut snapshot = world(actors);
        snapshot.user_threads = 1;
        assert_nothing(&snapshot);
        snapshot.user_threads = 0;
        assert_found(&snapshot, &[(AllAsleep, Certain, &[MAIN], 1)]);
    }
}

#[test]
fn an_answer_from_another_runtime() {
    let mut snapshot = world(vec![task(1, [leaf(WaitKind::Notify, A)]), task(2, [receive(B, 1)])]);
    snapshot.runtimes.push(runtime(9, Flavor::MultiThread));
    snapshot.actors.push(Actor { runtime: 9, ..task(3, [leaf(WaitKind::IoRead, 4)]) });
    assert_nothing(&snapshot);
}

#[test]
fn tasks_that_were_spawned_and_not_polled_yet() {
    let mut snapshot = world(vec![main_waits([leaf(WaitKind::Notify, A)])]);
    snapshot.runtimes[0].queued = 1;
    assert_nothing(&snapshot);
}

#[test]
fn a_job_in_the_blocking_pool() {
    let notified = main_waits([leaf(WaitKind::Notify, A)]);
    assert_nothing(&world(vec![notified.clone(), job(1, ActorState::Running)]));
    let mut snapshot = world(vec![notified]);
    snapshot.runtimes[0].blocking.queued = 1;
    assert_nothing(&snapshot);
}

#[test]
fn an_incomplete_census_says_nothing_of_all_tasks() {
    let mut snapshot = world(vec![main_waits([leaf(WaitKind::Notify, A)])]);
    snapshot.is_incomplete = true;
    assert_nothing(&snapshot);
    snapshot.actors.extend(abba());
    assert_found(&snapshot, &[(Deadlock, Certain, &[1, 2], 0)]);
}

#[test]
fn a_paused_clock() {
    // It goes on as soon as everything waits.
    let actors =
        vec![main_waits([join(1)]), task(1, [time()]), task(2, [leaf(WaitKind::Notify, A)])];
    let mut snapshot = world(actors);
    snapshot.runtimes[0].flavor = Flavor::CurrentThread;
    assert_nothing(&snapshot);
}

#[test]
fn a_listening_socket() {
    let actors = vec![
        main_waits([leaf(WaitKind::IoRead, 3)]),
        task(1, [receive(A, 1)]),
        task(2, [leaf(WaitKind::Semaphore, B)]),
        task(3, [leaf(WaitKind::Broadcast, C)]),
    ];
    assert_nothing(&watched(actors, vec![]));
}

#[test]
fn a_semaphore_used_as_a_notification() {
    // No permit exists until task 2 adds one.
    let actors = vec![task(1, [permits(A, 1)]), task(2, [time()])];
    assert_nothing(&watched(actors.clone(), vec![]));
    assert_nothing(&watched(actors, vec![held(A, 1, 0)]));
}

#[test]
fn permits_that_were_moved() {
    let actors = vec![task(1, [permits(A, 1)]), task(2, [time()])];
    // Its holder has ended.
    assert_nothing(&watched(actors.clone(), vec![held(A, 9, 1)]));
    // Acquired by no task.
    assert_nothing(&watched(actors, vec![held(A, 1, 1), held(A, 0, 1)]));
}

#[test]
fn a_read_lock_that_may_have_moved() {
    let actors = vec![task(1, [leaf(WaitKind::RwLockWrite, A)]), task(2, [time()])];
    let moved = HeldPermits { may_have_moved: true, ..held(A, 1, 1) };
    assert_found(&watched(actors, vec![moved]), &[(SelfDeadlock, Likely, &[1], 0)]);
}

#[test]
fn foreign_wakers_and_abort_handles() {
    // An unknown waker could belong to a channel of another crate in a `select!`.
    let mut actors = vec![main_waits([leaf(WaitKind::Notify, A)])];
    actors[0].wakers = Some(2);
    assert_nothing(&world(actors));
    let mut actors = abba();
    actors[0].wakers = Some(2);
    assert_found(&world(actors), &[(Deadlock, Likely, &[1, 2], 0)]);
    // It is not known how many wakers there are.
    let mut actors = abba();
    actors[0].wakers = None;
    assert_found(&world(actors), &[(Deadlock, Likely, &[1, 2], 0)]);
}

#[test]
fn a_leaf_that_was_polled_twice_does_not_hide_a_foreign_waker() {
    let twice = mutex(A, 2);
    let mut actors = abba();
    actors[0] = task(1, [twice.clone(), twice]);
    assert_eq!(actors[0].wakers, Some(2));
    assert_found(&world(actors), &[(Deadlock, Likely, &[1, 2], 0)]);
}

#[test]
fn more_leaves_than_fit() {
    let mut actors = abba();
    actors[0].leaves.as_mut().unwrap().is_truncated = true;
    assert_nothing(&world(actors));
}

#[test]
fn an_unasked_task_is_judged_by_its_note_only_if_that_is_all() {
    let note = |kind, detail| Some(Waits { kind, detail, is_seen: true });
    let mut actors = vec![task(1, [join(2)]), task(2, [join(1)]), task(3, [time()])];
    for (actor, other) in actors.iter_mut().zip([2, 1]) {
        (actor.leaves, actor.last) = (None, note(WaitKind::Task, other));
    }
    assert_found(&world(actors.clone()), &[(JoinCycle, Likely, &[1, 2], 0)]);
    actors[0].wakers = Some(2);
    assert_nothing(&world(actors));
}

#[test]
fn a_set_of_futures_with_wakers_of_its_own() {
    // The set holds the task's waker, and other futures of it may be woken by anything.
    let mut inner = mutex(A, 1);
    inner.has_own_waker = false;
    let waits = Actor { wakers: Some(1), ..task(1, [inner.clone()]) };
    let actors = vec![waits.clone(), task(2, [time()])];
    assert_found(&world(actors), &[(SelfDeadlock, Likely, &[1], 0)]);
    // Two wakers: not all of it is known.
    let waits = Actor { wakers: Some(2), ..task(1, [inner, leaf(WaitKind::Notify, B)]) };
    assert_nothing(&world(vec![waits, task(2, [time()])]));
}

#[test]
fn a_local_set_between_two_calls_of_run_until() {
    let mut snapshot = world(vec![local(queued(1)), task(2, [join(1)])]);
    let set = RuntimeState { is_driven: false, queued: 1, ..runtime(SET, Flavor::LocalSet) };
    snapshot.runtimes.push(RuntimeState { thread: Some(MAIN_OS), ..set });
    // Its thread runs the program's own code.
    snapshot.user_threads = 1;
    assert_nothing(&snapshot);
}

#[test]
fn a_current_thread_runtime_between_two_calls_of_block_on() {
    let mut snapshot = world(vec![queued(1), task(2, [join(1)]), task(3, [time()])]);
    snapshot.runtimes[0] =
        RuntimeState { is_driven: false, queued: 2, ..runtime(RUNTIME, Flavor::CurrentThread) };
    snapshot.user_threads = 1;
    assert_nothing(&snapshot);
}

#[test]
fn a_thread_that_blocks_on_a_pending_future_to_drive_a_runtime() {
    let mut snapshot = world(vec![main_waits([]), task(1, [leaf(WaitKind::IoRead, 3)])]);
    assert_nothing(&snapshot);
    snapshot.runtimes[0].flavor = Flavor::CurrentThread;
    assert_nothing(&snapshot);
}

#[test]
fn a_running_task_in_block_in_place() {
    // Its thread is in an inner `block_on`, which waits for a task that is stuck.
    let mut inner = main_waits([join(2)]);
    inner.thread = Some((200, "worker".into()));
    let actors = vec![running(1), inner, task(2, [mutex(A, 1)]), task(3, [time()])];
    assert_found(&world(actors.clone()), &[(Deadlock, Certain, &[1, MAIN, 2], 0)]);
    // The inner future waits for time as well.
    let mut twin = actors;
    twin[1] = Actor { thread: twin[1].thread.clone(), ..main_waits([join(2), time()]) };
    assert_nothing(&world(twin));
}

#[test]
fn a_task_that_is_not_in_the_census() {
    assert_nothing(&world(vec![main_waits([join(77)])]));
}

#[test]
fn a_set_of_tasks_that_go_on() {
    assert_nothing(&world(vec![main_waits([leaf(WaitKind::AnyTask, 0)]), task(1, [time()])]));
    // And one whose tasks are stuck is affected, rather than a reason.
    let mut actors = abba();
    actors.push(main_waits([leaf(WaitKind::AnyTask, 0)]));
    assert_found(&world(actors), &[(Deadlock, Certain, &[1, 2], 0)]);
}
