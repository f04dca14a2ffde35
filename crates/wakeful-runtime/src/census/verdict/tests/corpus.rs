//! The hung programs that the finder has to name, as a census sees them, each with a healthy twin.
//!
//! Each is seen watched from the start, with all holders of permits recorded, and dormant, without.

use super::builder::*;
use crate::census::snapshot::*;
use crate::census::verdict::Grade::*;
use crate::census::verdict::LONG;
use crate::census::verdict::VerdictKind::*;
use std::time::Duration;
use wakeful_base::waiting::{Holder, WaitKind};

#[test]
fn c01_two_mutexes_in_different_order() {
    let actors = || vec![main_waits([join(1)]), task(1, [mutex(A, 2)]), task(2, [mutex(B, 1)])];
    for snapshot in [world(actors()), watched(actors(), vec![])] {
        let found = assert_found(&snapshot, &[(Deadlock, Certain, &[1, 2], 1)]);
        assert_eq!(found.verdicts[0].objects, [(WaitKind::Mutex, A), (WaitKind::Mutex, B)]);
    }
    // Dormant, the holders are not recorded. All wait, so they are among them.
    let unknown = |address| leaf(WaitKind::Mutex, address);
    let actors = vec![main_waits([join(1)]), task(1, [unknown(A)]), task(2, [unknown(B)])];
    assert_found(&world(actors.clone()), &[(Deadlock, Certain, &[1, 2], 1)]);
    let mut more = actors;
    more.push(task(3, [time()]));
    assert_nothing(&world(more));
    // Twin: the second task holds its lock across a short sleep.
    assert_nothing(&world(vec![
        main_waits([join(1)]),
        task(1, [mutex(A, 2)]),
        Actor { unchanged_for: Duration::from_millis(200), ..task(2, [time()]) },
    ]));
}

#[test]
fn c02_one_task_locks_twice() {
    let actors = || vec![main_waits([join(1)]), task(1, [mutex(A, 1)])];
    for snapshot in [world(actors()), watched(actors(), vec![])] {
        assert_found(&snapshot, &[(SelfDeadlock, Certain, &[1], 1)]);
    }
    // Twin: the holder is another task, which runs.
    assert_nothing(&world(vec![main_waits([join(1)]), task(1, [mutex(A, 2)]), running(2)]));
}

#[test]
fn c03_read_lock_then_write_lock() {
    let wants = leaf(WaitKind::RwLockWrite, A);
    let actors = || vec![main_waits([join(1)]), task(1, [wants.clone()])];
    let snapshot = watched(actors(), vec![held(A, 1, 1)]);
    assert_found(&snapshot, &[(SelfDeadlock, Certain, &[1], 1)]);
    // Dormant: the readers are not known, but all actors wait.
    assert_found(&world(actors()), &[(Deadlock, Certain, &[1], 1)]);
    // Twin: another reader is at work.
    let mut actors = actors();
    actors.push(running(2));
    assert_nothing(&watched(actors.clone(), vec![held(A, 2, 1)]));
    assert_nothing(&world(actors));
}

#[test]
fn c03_read_lock_behind_a_queued_writer() {
    let wants = |kind| with(leaf(kind, A), |it| it.waiting = Some(2));
    let actors = vec![
        main_waits([join(1)]),
        task(1, [wants(WaitKind::RwLockRead)]),
        task(2, [wants(WaitKind::RwLockWrite)]),
        task(3, [time()]),
    ];
    let snapshot = watched(actors.clone(), vec![held(A, 1, 1)]);
    assert_found(&snapshot, &[(Deadlock, UnlessMoved, &[1, 2], 1)]);
    // A third waiter is not known. It may be a writer before both, which gives up.
    let mut third = snapshot.clone();
    third.actors[1].leaves.as_mut().unwrap().leaves[0].details.waiting = Some(3);
    assert_found(&third, &[(Deadlock, Likely, &[1, 2], 1)]);
    // Dormant, and the program goes on elsewhere: that task might be a reader.
    assert_nothing(&world(actors));
    // Twin: the writer gives up after a time.
    let mut twin = snapshot;
    twin.actors[2] = task(2, [wants(WaitKind::RwLockWrite), time()]);
    assert_nothing(&twin);
}

#[test]
fn c04_futurelock_by_select() {
    let actors = || vec![main_waits([join(1)]), task(1, [granted(A, 1)])];
    for mut snapshot in [world(actors()), watched(actors(), vec![])] {
        assert_found(&snapshot, &[(Futurelock, Certain, &[1], 1)]);
        // The future may have been moved to another task.
        snapshot.actors.push(task(2, [time()]));
        assert_found(&snapshot, &[(Futurelock, UnlessMoved, &[1], 1)]);
    }
    // Twin: the task has been woken to collect the lock.
    assert_nothing(&world(vec![task(1, [granted(A, 2)]), queued(2)]));
}

#[test]
fn c05_buffered_then_for_each() {
    // The future in the buffer was granted the lock. Its waker is spent, so one waker is left.
    let mut buffered = mutex(A, 1);
    buffered.has_own_waker = false;
    buffered.details.holder = Some(Holder { is_granted: true, ..held_by(1) });
    let actors = vec![main_waits([granted(A, MAIN)]), task(2, [time()])];
    assert_found(&world(actors), &[(Futurelock, UnlessMoved, &[MAIN], 0)]);
    // Twin: the buffer still has a waker, and polls its futures.
    let waits = Actor { wakers: Some(1), ..task(1, [buffered]) };
    let twin = vec![
        main_waits([join(1)]),
        Actor { state: ActorState::Queued, unchanged_for: Duration::ZERO, ..waits },
    ];
    assert_nothing(&world(twin));
}

#[test]
fn c06_futures_unordered_and_a_lock() {
    // Through another task: 1 was granted A and waits for B, whose holder waits for A.
    let actors = vec![task(1, [mutex(B, 2)]), task(2, [granted(A, 1)]), task(3, [time()])];
    assert_found(&world(actors), &[(Futurelock, UnlessMoved, &[1, 2], 0)]);
    // Twin: the holder of B can release it.
    assert_nothing(&world(vec![task(1, [mutex(B, 2)]), running(2), task(3, [granted(A, 1)])]));
}

#[test]
fn c07_receiver_keeps_its_own_sender() {
    let actors = || vec![main_waits([join(1)]), task(1, [receive(A, 1)])];
    for snapshot in [world(actors()), watched(actors(), vec![])] {
        assert_found(&snapshot, &[(ForgottenSender, Certain, &[1], 1)]);
    }
    // Twin: another task may send.
    assert_nothing(&world(vec![
        main_waits([join(1)]),
        task(1, [receive(A, 2)]),
        task(2, [time()]),
    ]));
}

#[test]
fn c08_two_actors_with_full_channels() {
    let actors = || vec![main_waits([join(1)]), task(1, [send(A, 2)]), task(2, [send(B, 1)])];
    for snapshot in [world(actors()), watched(actors(), vec![])] {
        assert_found(&snapshot, &[(ChannelCycle, Certain, &[1, 2], 1)]);
    }
    // A receiver might have been moved to a third task.
    let mut with_third = actors();
    with_third.push(task(3, [time()]));
    assert_found(&world(with_third), &[(ChannelCycle, Likely, &[1, 2], 1)]);
    // Twin: one of the two receives.
    assert_nothing(&world(vec![task(1, [send(A, 2)]), task(2, [receive(A, 1), time()])]));
}

#[test]
fn c09_permit_forgotten() {
    let actors = || vec![main_waits([join(1)]), task(1, [permits(A, 1)])];
    let forgotten = HeldPermits { is_forgotten: true, ..held(A, 7, 1) };
    assert_found(&watched(actors(), vec![forgotten]), &[(LeakedPermits, Certain, &[1], 1)]);
    // Dormant: it is not known that permits were forgotten.
    assert_found(&world(actors()), &[(SemaphoreExhausted, Certain, &[1], 1)]);
    // Other tasks go on, but none has ever added permits.
    let mut more = actors();
    more.push(task(2, [time()]));
    assert_found(&watched(more.clone(), vec![forgotten]), &[(LeakedPermits, Likely, &[1], 1)]);
    // Twin: a token bucket, whose permits are forgotten and added again.
    let mut bucket = watched(more, vec![forgotten]);
    bucket.holdings.refilled = Some(vec![A]);
    assert_nothing(&bucket);
    bucket.holdings.refilled = None;
    assert_nothing(&bucket);
}

#[test]
fn c10_nested_acquire_exhausts_a_pool() {
    let actors = || {
        vec![
            main_waits([join(1)]),
            task(1, [permits(A, 1)]),
            task(2, [permits(A, 1)]),
            task(3, [permits(A, 1)]),
        ]
    };
    let holders = vec![held(A, 1, 1), held(A, 2, 1)];
    let snapshot = watched(actors(), holders.clone());
    assert_found(&snapshot, &[(SemaphoreExhausted, Certain, &[1, 2], 2)]);
    assert_found(&world(actors()), &[(SemaphoreExhausted, Certain, &[1, 2, 3], 1)]);
    // Another task might add permits.
    let mut more = actors();
    more.push(task(4, [time()]));
    assert_found(&watched(more, holders), &[(SemaphoreExhausted, Likely, &[1, 2], 2)]);
    // Twin: one holder is at work.
    let twin = vec![task(1, [permits(A, 1)]), task(2, [time()])];
    assert_nothing(&watched(twin, vec![held(A, 1, 1), held(A, 2, 1)]));
}

#[test]
fn c11_two_tasks_join_each_other() {
    let actors = || vec![main_waits([join(1)]), task(1, [join(2)]), task(2, [join(1)])];
    for snapshot in [world(actors()), watched(actors(), vec![])] {
        assert_found(&snapshot, &[(JoinCycle, Certain, &[1, 2], 1)]);
    }
    // Twin.
    assert_nothing(&world(vec![task(1, [join(2)]), running(2)]));
}

#[test]
fn c12_notified_too_late() {
    let actors = || vec![main_waits([join(1)]), task(1, [leaf(WaitKind::Notify, A)])];
    for snapshot in [world(actors()), watched(actors(), vec![])] {
        assert_found(&snapshot, &[(AllAsleep, Certain, &[1], 1)]);
    }
    // Twin: a timer task may notify.
    let mut twin = actors();
    twin.push(task(2, [time()]));
    assert_nothing(&world(twin));
}

#[test]
fn c13_mutex_held_over_a_read() {
    let mut actors = vec![main_waits([join(2)]), task(1, [leaf(WaitKind::IoRead, 7)])];
    actors.extend((2..52).map(|id| task(id, [mutex(A, 1)])));
    for snapshot in [world(actors.clone()), watched(actors.clone(), vec![])] {
        let found = assert_found(&snapshot, &[(HeldAcrossWait, Likely, &[1], 50)]);
        assert_eq!(found.verdicts[0].members[0].waits, Some((WaitKind::IoRead, 7)));
        assert_eq!(found.verdicts[0].objects, [(WaitKind::Mutex, A)]);
    }
    // Fewer waiters are reported after a longer time.
    actors.truncate(5);
    for actor in &mut actors {
        actor.unchanged_for = LONG - Duration::from_millis(1);
    }
    assert_nothing(&world(actors));
}

#[test]
fn c14_all_workers_blocked() {
    let worker = |index, task, stuck_for| WorkerState {
        runtime: RUNTIME,
        index,
        task: Some(task),
        stuck_for,
        thread: None,
    };
    let long = Some(Duration::from_secs(3));
    let mut snapshot = world(vec![main_waits([join(1)]), running(1), running(2), queued(3)]);
    snapshot.workers = vec![worker(0, 1, long), worker(1, 2, long)];
    assert_found(&snapshot, &[(BlockedWorker, Likely, &[1, 2], 1)]);
    // Twin: polls that last some milliseconds.
    let short = Some(Duration::from_millis(30));
    snapshot.workers = vec![worker(0, 1, short), worker(1, 2, None)];
    snapshot.actors[3].unchanged_for = Duration::from_millis(30);
    assert_nothing(&snapshot);
}

#[test]
fn c15_future_loses_its_waker() {
    let lost = || Actor { wakers: Some(0), leaves: None, ..task(1, []) };
    assert_found(&world(vec![main_waits([join(1)]), lost()]), &[(LostWaker, Certain, &[1], 1)]);
    // No actor waits for it: it may be meant to wait until the runtime is shut down.
    let actors = vec![main_waits([time()]), lost()];
    assert_found(&world(actors), &[(LostWaker, Likely, &[1], 0)]);
    // Twin: a foreign waker.
    let twin = Actor { wakers: Some(1), ..lost() };
    assert_nothing(&world(vec![main_waits([join(1)]), twin]));
}

#[test]
fn c16_task_wakes_itself() {
    let spins = Actor {
        polls: 40_000,
        busy_for: Duration::from_secs(1),
        unchanged_for: Duration::ZERO,
        ..queued(1)
    };
    let starves = Actor { unchanged_for: Duration::from_secs(2), ..queued(2) };
    let mut snapshot = world(vec![main_waits([join(2)]), spins, starves]);
    snapshot.runtimes[0].flavor = Flavor::CurrentThread;
    assert_found(&snapshot, &[(SpinningTask, Likely, &[1], 1)]);
    snapshot.actors.remove(1);
    assert_found(&snapshot, &[(StarvedTask, Likely, &[2], 0)]);
    // Twin: busy, but it waits now and then.
    snapshot.actors = vec![Actor { polls: 40_000, unchanged_for: Duration::ZERO, ..queued(1) }];
    assert_nothing(&snapshot);
}

#[test]
fn c17_runtime_that_no_thread_drives() {
    let mut snapshot = world(vec![main_waits([join(1)]), queued(1)]);
    snapshot.runtimes[0] =
        RuntimeState { is_driven: false, queued: 1, ..runtime(RUNTIME, Flavor::CurrentThread) };
    assert_found(&snapshot, &[(NotDriven, Certain, &[1], 1)]);
    // Another thread might call `block_on`.
    snapshot.user_threads = 1;
    assert_found(&snapshot, &[(NotDriven, Likely, &[1], 1)]);
    // `Handle::block_on` of a sleep.
    snapshot.actors = vec![main_waits([time()])];
    assert_found(&snapshot, &[(NotDriven, Likely, &[MAIN], 0)]);
    // Twin: a runtime at rest between two calls, which nothing waits for.
    snapshot.actors = vec![queued(1), task(2, [mutex(A, 1)])];
    assert_nothing(&snapshot);
}

#[test]
fn c18_job_waits_for_a_job() {
    let thread = Actor { kind: ActorKind::Thread { job: Some(1) }, ..main_waits([join(2)]) };
    let jobs = [job(1, ActorState::Running), job(2, ActorState::Queued)];
    let mut snapshot = world(jobs.into());
    snapshot.actors.push(Actor { id: MAIN + 1, ..thread });
    snapshot.actors.push(main_waits([join(1)]));
    snapshot.runtimes[0].blocking = BlockingState { busy: 1, threads_max: 1, queued: 1 };
    assert_found(&snapshot, &[(PoolExhausted, Certain, &[1, MAIN + 1, 2], 1)]);
    // The queued job is only counted.
    let known = snapshot.clone();
    snapshot.actors.remove(1);
    assert_found(&snapshot, &[(PoolExhausted, Likely, &[1], 1)]);
    // Twin: a second thread may run the job.
    let mut twin = known;
    twin.runtimes[0].blocking = BlockingState { busy: 1, threads_max: 2, queued: 1 };
    assert_nothing(&twin);
}

#[test]
fn c19_barrier_one_short() {
    let waits =
        || with(leaf(WaitKind::Barrier, A), |it| (it.waiting, it.limit) = (Some(2), Some(3)));
    let actors = || vec![main_waits([join(1)]), task(1, [waits()]), task(2, [waits()])];
    for snapshot in [world(actors()), watched(actors(), vec![])] {
        assert_found(&snapshot, &[(BarrierShort, Certain, &[1, 2], 1)]);
    }
    // Twin: the third is on its way.
    let mut twin = actors();
    twin.push(task(3, [time()]));
    assert_nothing(&world(twin));
}

#[test]
fn c20_once_cell_in_itself() {
    let cell = leaf(WaitKind::OnceCell, A);
    let actors = vec![main_waits([join(1)]), task(1, [cell.clone()])];
    assert_found(&world(actors), &[(Deadlock, Certain, &[1], 1)]);
    let holder = with(cell, |it| it.holder = Some(held_by(1)));
    let actors = vec![main_waits([join(1)]), task(1, [holder.clone()])];
    assert_found(&world(actors), &[(SelfDeadlock, Certain, &[1], 1)]);
    // Twin.
    assert_nothing(&world(vec![task(2, [holder]), running(1)]));
}

#[test]
fn c21_mutex_channel_and_join() {
    let actors = || {
        vec![
            main_waits([join(1)]),
            task(1, [send(B, 2)]),
            task(2, [join(3)]),
            task(3, [mutex(A, 1)]),
        ]
    };
    for snapshot in [world(actors()), watched(actors(), vec![])] {
        assert_found(&snapshot, &[(Deadlock, Certain, &[1, 2, 3], 1)]);
    }
    // Twin.
    assert_nothing(&world(vec![task(1, [send(B, 2)]), running(2), task(3, [mutex(A, 1)])]));
}

#[test]
fn c22_lock_holder_in_a_set_that_is_not_polled() {
    let mut snapshot = world(vec![main_waits([mutex(A, 1)]), local(queued(1)), task(5, [time()])]);
    let set = RuntimeState { is_driven: false, ..runtime(SET, Flavor::LocalSet) };
    snapshot.runtimes.push(RuntimeState { thread: Some(MAIN_OS), ..set });
    assert_found(&snapshot, &[(NotDriven, UnlessMoved, &[1, MAIN], 0)]);
    // The set's tasks may wait, too: they could not answer.
    snapshot.actors[1] = local(Actor { wakers: Some(1), leaves: None, ..task(1, []) });
    assert_found(&snapshot, &[(NotDriven, UnlessMoved, &[1, MAIN], 0)]);
    // Its thread is not known: any other actor may poll it.
    snapshot.runtimes[1].thread = None;
    assert_nothing(&snapshot);
    snapshot.actors.pop();
    assert_found(&snapshot, &[(NotDriven, Certain, &[1], 1)]);
    // A task of it could go on.
    snapshot.actors[1] = local(queued(1));
    assert_found(&snapshot, &[(NotDriven, Certain, &[1], 1)]);
    // Dormant: the holder is not known.
    snapshot.actors[0] = main_waits([leaf(WaitKind::Mutex, A)]);
    assert_found(&snapshot, &[(NotDriven, Certain, &[1, MAIN], 0)]);
    snapshot.actors[0] = main_waits([mutex(A, 1)]);
    // Twin: the thread sleeps between two calls of `run_until`.
    snapshot.runtimes[1].thread = Some(MAIN_OS);
    snapshot.actors[0] = main_waits([time()]);
    assert_nothing(&snapshot);
}
