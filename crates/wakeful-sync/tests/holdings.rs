//! What is recorded of permits, read locks and channels in a process that is watched.

mod support;

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use support::manual;
use wakeful_base::waiting::holdings::{self, HeldPermits, read};
use wakeful_sync::{RwLock, RwLockWriteGuard, Semaphore, mpsc};

/// Calls `f` in a poll of the task with this id.
fn as_task<R>(id: u64, f: impl FnOnce() -> R) -> R {
    let mut f = Some(f);
    poll_as(id, std::future::poll_fn(|_| Poll::Ready(f.take().unwrap()())))
}

/// Polls the future once, as the task with this id, and returns its output.
#[track_caller]
fn poll_as<F: Future>(id: u64, future: F) -> F::Output {
    match manual(future).poll_asked(id).0 {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future should be ready"),
    }
}

/// Returns the address of a semaphore or lock that has no permits left.
fn object_of<F: Future>(waits: F) -> u64 {
    manual(waits).leaf(99).detail
}

/// Returns the entries of an object: the task, the count, and the marks.
fn held(object: u64) -> Vec<(u64, u64, &'static str)> {
    let marks = |entry: &HeldPermits| match (entry.is_forgotten, entry.may_have_moved) {
        (false, false) => "",
        (false, true) => "may have moved",
        (true, false) => "forgotten",
        (true, true) => "forgotten, may have moved",
    };
    let permits = read().permits.into_iter().filter(|entry| entry.object == object);
    permits.map(|entry| (entry.by, entry.count, marks(&entry))).collect()
}

#[test]
fn permits_are_held_by_the_task_that_acquired_them() {
    holdings::watch();
    let semaphore = Semaphore::new(6);
    let two = poll_as(7, semaphore.acquire_many(2)).unwrap();
    let one = as_task(7, || semaphore.try_acquire()).unwrap();
    let mut three = as_task(8, || semaphore.try_acquire_many(3)).unwrap();
    let object = object_of(semaphore.acquire());
    assert_eq!(held(object), [(7, 3, ""), (8, 3, "")]);
    as_task(7, || drop(two));
    assert_eq!(held(object), [(7, 1, ""), (8, 3, "")]);
    as_task(7, || drop(one));
    assert_eq!(held(object), [(8, 3, "")]);
    as_task(8, || drop(three.split(1)));
    assert_eq!(held(object), [(8, 2, "")]);
    as_task(8, || drop(three));
    assert_eq!(held(object), []);
}

#[test]
fn permits_that_were_given_away_mark_those_that_are_left() {
    holdings::watch();
    let semaphore = Semaphore::new(4);
    let one = poll_as(7, semaphore.acquire()).unwrap();
    let two = poll_as(7, semaphore.acquire_many(2)).unwrap();
    let last = poll_as(8, semaphore.acquire()).unwrap();
    let object = object_of(semaphore.acquire());
    as_task(8, || drop(two));
    // The permit of 8 was released by name, and one that 7 had.
    assert_eq!(held(object), [(7, 2, "may have moved")]);
    as_task(9, || drop(last));
    assert_eq!(held(object), [(7, 1, "may have moved")]);
    drop(one);
    assert_eq!(held(object), []);
    let _again = poll_as(7, semaphore.acquire()).unwrap();
    assert_eq!(held(object), [(7, 1, "")], "the mark goes with the entry");
}

#[test]
fn owned_permits_may_have_moved() {
    holdings::watch();
    let semaphore = Arc::new(Semaphore::new(2));
    let first = poll_as(7, semaphore.clone().acquire_owned()).unwrap();
    let second = as_task(8, || semaphore.clone().try_acquire_owned()).unwrap();
    let object = object_of(semaphore.acquire());
    assert_eq!(held(object), [(7, 1, "may have moved"), (8, 1, "may have moved")]);
    drop((first, second));
    assert_eq!(held(object), []);
}

#[test]
fn forgotten_permits_stay_with_the_task_that_forgot_them() {
    holdings::watch();
    let semaphore = Box::new(Semaphore::new(5));
    let kept = poll_as(7, semaphore.acquire_many(2)).unwrap();
    poll_as(7, semaphore.acquire_many(2)).unwrap().forget();
    as_task(8, || assert_eq!(semaphore.forget_permits(3), 1));
    let object = object_of(semaphore.acquire());
    // The one of 7 was forgotten outside a task.
    assert_eq!(held(object), [(7, 2, "may have moved"), (0, 2, "forgotten"), (8, 1, "forgotten")]);
    assert!(!read().refilled.contains(&object));
    semaphore.add_permits(0);
    assert!(!read().refilled.contains(&object));
    semaphore.add_permits(1);
    assert!(read().refilled.contains(&object));
    drop(kept);
    drop(semaphore);
    assert_eq!(held(object), []);
    assert!(!read().refilled.contains(&object));
}

#[test]
fn a_permit_that_is_not_collected_is_not_recorded() {
    holdings::watch();
    let semaphore = Semaphore::new(1);
    let first = poll_as(7, semaphore.acquire()).unwrap();
    let mut waits = manual(semaphore.acquire());
    let object = waits.leaf(8).detail;
    as_task(7, || drop(first));
    assert_eq!(held(object), []);
    drop(waits);
    let _again = poll_as(9, semaphore.acquire()).unwrap();
    assert_eq!(held(object), [(9, 1, "")]);
}

#[test]
fn read_locks_are_recorded_and_write_locks_are_not() {
    holdings::watch();
    let lock = Arc::new(RwLock::with_max_readers(0, 4));
    let first = poll_as(7, lock.read());
    let second = as_task(8, || lock.try_read()).unwrap();
    let owned = poll_as(9, lock.clone().read_owned());
    let object = object_of(lock.write());
    assert_eq!(held(object), [(7, 1, ""), (8, 1, ""), (9, 1, "may have moved")]);
    as_task(7, || drop(first));
    as_task(8, || drop(second));
    as_task(9, || drop(owned));
    assert_eq!(held(object), []);
    let written = poll_as(7, lock.write());
    assert_eq!(held(object), []);
    let read = as_task(7, || RwLockWriteGuard::downgrade(written));
    assert_eq!(held(object), [(7, 1, "")]);
    as_task(7, || drop(read));
    assert_eq!(held(object), []);
}

#[test]
fn the_only_reader_of_a_lock_for_one_is_told_from_a_writer() {
    holdings::watch();
    let lock = RwLock::with_max_readers(0, 1);
    let read = poll_as(7, lock.read());
    let leaf = manual(lock.write()).leaf(99);
    assert_eq!((held(leaf.detail), leaf.details.holder), (vec![(7, 1, "")], None));
    as_task(7, || drop(read));
    let written = poll_as(8, lock.write());
    let leaf = manual(lock.read()).leaf(99);
    assert_eq!((held(leaf.detail), leaf.details.holder.unwrap().id_low), (vec![], 8));
    as_task(8, || drop(written));
    assert_eq!(held(leaf.detail), []);
}

#[test]
fn ends_of_channels_are_recorded_with_the_tasks_that_use_them() {
    holdings::watch();
    let (tx, mut rx) = as_task(5, || mpsc::channel(1));
    let object = manual(rx.recv()).leaf(7).detail;
    let uses = || {
        let uses = read().channels.into_iter().filter(|entry| entry.object == object);
        uses.map(|entry| (entry.by, entry.is_sender)).collect::<Vec<_>>()
    };
    assert_eq!(uses(), [(5, true), (7, false)]);
    let weak = as_task(6, || tx.clone()).downgrade();
    let other = as_task(8, || weak.upgrade()).unwrap();
    as_task(9, || tx.try_send(1)).unwrap();
    let mut waits = manual(other.send(2));
    waits.leaf(10);
    assert_eq!(uses(), [(5, true), (6, true), (7, false), (8, true), (9, true), (10, true)]);
    drop(waits);
    drop((tx, rx, other, weak));
    assert_eq!(uses(), []);
}

#[test]
fn entries_are_bounded() {
    holdings::watch();
    let (tx, _rx) = mpsc::channel::<u32>(1);
    let before = read();
    for id in 1..20_000 {
        as_task(id, || drop(tx.clone()));
    }
    let all = read();
    assert!(all.lacks_channels && !all.lacks_permits && !before.lacks_permits);
    assert!(all.channels.len() - before.channels.len() < 10_000);
    drop((tx, _rx));
    assert!(read().channels.len() < 1_000);
}
