//! The holder of a lock, as futures that wait for it report it in a process that is watched.

mod support;

use std::future::Future;
use std::sync::Arc;
use std::task::{Poll, Waker};

use support::{Manual, manual};
use wakeful_base::waiting::{Holder, WaitKind, holdings};
use wakeful_sync::{
    Mutex, OnceCell, OwnedMutexGuard, OwnedRwLockWriteGuard, RwLock, RwLockWriteGuard,
};

const HELD: Holder = Holder { id_low: 7, is_thread: false, is_granted: false, is_owned: false };
const GRANTED: Holder = Holder { is_granted: true, ..HELD };
const OWNED: Holder = Holder { is_owned: true, ..HELD };

/// Polls as task 7, and returns the output.
#[track_caller]
fn by_7<F: Future>(future: F) -> F::Output {
    match manual(future).poll_asked(7).0 {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future should be ready"),
    }
}

/// Asks task 9, which waits for the lock, for its holder.
#[track_caller]
fn seen_by<F: Future>(waits: &mut Manual<F>) -> Option<Holder> {
    waits.leaf(9).details.holder
}

/// Makes a task wait for the lock, and asks it for the holder.
#[track_caller]
fn seen_at(mutex: &Mutex<u32>) -> Option<Holder> {
    seen_by(&mut manual(mutex.lock()))
}

#[track_caller]
fn seen_at_rwlock(lock: &RwLock<u32>) -> Option<Holder> {
    let seen = seen_by(&mut manual(lock.write()));
    assert_eq!(seen_by(&mut manual(lock.read())), seen);
    seen
}

#[test]
fn a_mutex_is_held_by_the_task_that_locked_it() {
    holdings::watch();
    let mutex = Mutex::new(0);
    let guard = by_7(mutex.lock());
    assert_eq!(seen_at(&mutex), Some(HELD));
    drop(guard);
    let guard = by_7(async { mutex.try_lock().unwrap() });
    assert_eq!(seen_at(&mutex), Some(HELD));
    drop(guard);
    let _not_by_a_task = mutex.try_lock().unwrap();
    assert_eq!(seen_at(&mutex), Some(Holder { id_low: 0, ..HELD }));
}

#[test]
fn a_part_of_the_value_is_held_like_the_mutex() {
    holdings::watch();
    let mutex = Arc::new(Mutex::new(0));
    let part = wakeful_sync::MutexGuard::map(by_7(mutex.lock()), |value| value);
    assert_eq!(seen_at(&mutex), Some(HELD));
    drop(part);
    let part = OwnedMutexGuard::map(by_7(mutex.clone().lock_owned()), |value| value);
    assert_eq!(seen_at(&mutex), Some(OWNED));
    drop(part);
}

#[test]
fn a_thread_that_blocks_on_the_lock_is_a_thread() {
    holdings::watch();
    let mutex = Mutex::new(0);
    let guard = mutex.blocking_lock();
    let holder = seen_at(&mutex).unwrap();
    assert!(holder.is_thread && holder.id_low != 0 && !holder.is_granted && !holder.is_owned);
    drop(guard);
}

#[test]
fn a_guard_that_owns_its_lock_says_so() {
    holdings::watch();
    let mutex = Arc::new(Mutex::new(0));
    let guard = by_7(mutex.clone().lock_owned());
    assert_eq!(seen_at(&mutex), Some(OWNED));
    drop(guard);
    let guard = by_7(async { mutex.clone().try_lock_owned().unwrap() });
    assert_eq!(seen_at(&mutex), Some(OWNED));
    drop(guard);
    let _borrowed = by_7(mutex.lock());
    assert_eq!(seen_at(&mutex), Some(HELD));
}

#[test]
fn a_grant_is_marked_until_it_is_collected() {
    holdings::watch();
    let mutex = Mutex::new(0);
    let first = by_7(mutex.lock());
    let mut waits = manual(mutex.lock());
    waits.leaf(7);
    let mut last = manual(mutex.lock());
    drop(first);
    assert_eq!(seen_by(&mut last), Some(GRANTED));
    let Poll::Ready(guard) = waits.poll_asked(7).0 else { panic!("granted") };
    assert_eq!(seen_by(&mut last), Some(HELD));
    drop(guard);
    assert_eq!(*last.ready(), 0);
}

#[test]
fn a_grant_that_is_dropped_passes_the_lock_on() {
    holdings::watch();
    let mutex = Mutex::new(0);
    let first = by_7(mutex.lock());
    let mut dropped = manual(mutex.lock());
    dropped.leaf(5);
    let mut next = manual(mutex.lock());
    next.leaf(7);
    drop(first);
    let mut last = manual(mutex.lock());
    assert_eq!(seen_by(&mut last), Some(Holder { id_low: 5, ..GRANTED }));
    drop(dropped);
    assert_eq!(seen_by(&mut last), Some(GRANTED));
    drop(next);
    assert_eq!(*last.ready(), 0);
    // The next holder is unknown until it has stored its name, rather than the one before.
    drop(last);
    let _unknown = mutex.try_lock().unwrap();
    assert_eq!(seen_at(&mutex), Some(Holder { id_low: 0, ..HELD }));
}

#[test]
fn a_waiting_future_that_moves_to_another_task_is_named_after_it() {
    holdings::watch();
    let mutex = Mutex::new(0);
    let first = by_7(mutex.lock());
    let mut waits = manual(mutex.lock());
    assert!(waits.poll_with(Waker::noop()).is_pending());
    waits.leaf(7);
    drop(first);
    assert_eq!(seen_at(&mutex), Some(GRANTED));
}

#[test]
fn a_writer_holds_a_lock_and_readers_are_not_named() {
    holdings::watch();
    let lock = Arc::new(RwLock::new(0));
    let written = by_7(lock.write());
    assert_eq!(seen_at_rwlock(&lock), Some(HELD));
    let read = RwLockWriteGuard::downgrade(written);
    assert_eq!(manual(lock.write()).leaf(9).details.holder, None);
    drop(read);
    let written = by_7(async { lock.try_write().unwrap() });
    assert_eq!(seen_at_rwlock(&lock), Some(HELD));
    drop(RwLockWriteGuard::into_mapped(written));
    let written = by_7(lock.clone().write_owned());
    assert_eq!(seen_at_rwlock(&lock), Some(OWNED));
    drop(OwnedRwLockWriteGuard::into_mapped(written));
    let written = by_7(async { lock.clone().try_write_owned().unwrap() });
    assert_eq!(seen_at_rwlock(&lock), Some(OWNED));
    drop(written);
    let _read = by_7(lock.read());
    let leaf = manual(lock.write()).leaf(9);
    assert_eq!((leaf.kind, leaf.details.holder), (WaitKind::RwLockWrite, None));
}

#[test]
fn a_writer_is_granted_when_the_last_reader_leaves() {
    holdings::watch();
    let lock = RwLock::with_max_readers(0, 4);
    let readers = [by_7(lock.read()), by_7(lock.read())];
    let mut writer = manual(lock.write());
    writer.leaf(7);
    let mut last = manual(lock.read());
    let [first, second] = readers;
    drop(first);
    assert_eq!(seen_by(&mut last), None);
    drop(second);
    assert_eq!(seen_by(&mut last), Some(GRANTED));
    let Poll::Ready(guard) = writer.poll_asked(7).0 else { panic!("granted") };
    assert_eq!(seen_by(&mut last), Some(HELD));
    drop(guard);
    let _read = last.ready();
    assert_eq!(manual(lock.write()).leaf(9).details.holder, None);
}

#[test]
fn the_task_that_initializes_a_cell_is_named() {
    holdings::watch();
    let cell = OnceCell::new();
    let mut first = manual(cell.get_or_init(std::future::pending::<u32>));
    assert!(first.poll_asked(7).0.is_pending());
    let mut second = manual(cell.get_or_init(|| async { 2 }));
    let leaf = second.leaf(9);
    assert_eq!((leaf.kind, leaf.details.holder), (WaitKind::OnceCell, Some(HELD)));
    drop(first);
    assert_eq!(second.poll_asked(9).0, Poll::Ready(&2));
}
