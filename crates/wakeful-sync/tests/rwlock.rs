//! Tests of [`RwLock`]: many readers or one writer, in the order of requests; guards for parts.

mod support;

use std::sync::Arc;

use support::{Random, manual, panicking_waker, stress};
use wakeful_base::block_on;
use wakeful_sync::{
    OwnedRwLockMappedWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock,
    RwLockMappedWriteGuard, RwLockReadGuard, RwLockWriteGuard,
};

#[test]
fn readers_share_and_a_writer_is_alone() {
    let lock = RwLock::new(1);
    let one = manual(lock.read()).ready();
    let other = lock.try_read().unwrap();
    assert_eq!(*one + *other, 2);
    assert!(lock.try_write().is_err());
    drop((one, other));
    let mut writer = manual(lock.write()).ready();
    *writer = 2;
    assert!(lock.try_read().is_err() && lock.try_write().is_err());
    drop(writer);
    assert_eq!(lock.into_inner(), 2);
}

#[test]
fn a_writer_in_line_is_not_overtaken_by_readers() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let mut writer = manual(lock.write());
    let mut late = manual(lock.read());
    writer.pending();
    late.pending();
    assert!(lock.try_read().is_err());
    drop(reader);
    assert!(writer.is_woken() && !late.is_woken());
    *writer.ready() = 1;
    assert_eq!(*late.ready(), 1);
}

#[test]
fn a_dropped_writer_lets_waiting_readers_in() {
    let lock = RwLock::new(0);
    let reader = lock.try_read().unwrap();
    let mut writer = manual(lock.write());
    writer.pending();
    let mut readers: Vec<_> = (0..40).map(|_| manual(lock.read())).collect();
    readers.iter_mut().for_each(|r| r.pending());
    drop(writer);
    assert!(readers.iter().all(|r| r.is_woken()));
    let guards: Vec<_> = readers.iter_mut().map(|r| r.ready()).collect();
    drop((reader, guards));
    assert!(lock.try_write().is_ok());
}

#[test]
fn max_readers_limits_readers() {
    let lock = RwLock::with_max_readers(0, 2);
    let _guards = (lock.try_read().unwrap(), lock.try_read().unwrap());
    assert!(lock.try_read().is_err());
    assert!(std::panic::catch_unwind(|| RwLock::with_max_readers(0, 0)).is_err());
    assert!(std::panic::catch_unwind(|| RwLock::with_max_readers(0, u32::MAX)).is_err());
}

#[test]
fn a_downgrade_lets_readers_in_but_no_writer() {
    let lock = Arc::new(RwLock::new(0));
    let mut writer = lock.try_write().unwrap();
    let mut waiting = manual(lock.read());
    let mut next_writer = manual(lock.write());
    waiting.pending();
    next_writer.pending();
    *writer = 5;
    let reader = writer.downgrade();
    assert!(waiting.is_woken());
    assert_eq!(*waiting.ready() + *reader, 10);
    next_writer.pending();
    drop(reader);
    drop(next_writer.ready());

    let owned = lock.clone().try_write_owned().unwrap().downgrade();
    assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&owned), &lock));
    assert!(lock.clone().try_read_owned().is_ok() && lock.clone().try_write_owned().is_err());
}

#[test]
fn guards_narrow_to_parts() {
    let lock = RwLock::new((1, Some(2)));
    let read = RwLockReadGuard::map(lock.try_read().unwrap(), |pair| &pair.1);
    let read = RwLockReadGuard::try_map(read, Option::as_ref).unwrap();
    assert_eq!(format!("{read} {read:?}"), "2 2");
    assert!(RwLockReadGuard::try_map(read, |_| None::<&u8>).is_err());

    let write = RwLockWriteGuard::map(lock.try_write().unwrap(), |pair| &mut pair.1);
    let mut write = RwLockMappedWriteGuard::try_map(write, Option::as_mut).unwrap();
    *write = 3;
    drop(RwLockMappedWriteGuard::map(write, |number| number));
    let write = RwLockWriteGuard::try_map(lock.try_write().unwrap(), |_| None::<&mut u8>);
    let whole = RwLockWriteGuard::into_mapped(write.unwrap_err());
    assert_eq!(*whole, (1, Some(3)));
    drop(whole);
    let read = RwLockWriteGuard::downgrade_map(lock.try_write().unwrap(), |pair| &pair.0);
    assert_eq!((*read, *lock.try_read().unwrap()), (1, (1, Some(3))));
    drop(read);
    let back = RwLockWriteGuard::try_downgrade_map(lock.try_write().unwrap(), |_| None::<&u8>);
    assert!(lock.try_read().is_err(), "still a writer");
    let second = RwLockWriteGuard::try_downgrade_map(back.unwrap_err(), |pair| pair.1.as_ref());
    assert_eq!(*second.unwrap(), 3);
    assert!(lock.try_write().is_ok());
}

#[test]
fn owned_guards_narrow_and_keep_the_lock_alive() {
    let lock = Arc::new(RwLock::new((String::from("a"), 2)));
    let read = OwnedRwLockReadGuard::map(lock.clone().try_read_owned().unwrap(), |pair| &pair.0);
    let read = OwnedRwLockReadGuard::try_map(read, |text| text.get(..1)).unwrap();
    let back = OwnedRwLockReadGuard::try_map(read, |_| None::<&u8>).unwrap_err();
    assert_eq!(&*back, "a");
    drop(back);
    let write = manual(lock.clone().write_owned()).ready();
    assert!(Arc::ptr_eq(OwnedRwLockWriteGuard::rwlock(&write), &lock));
    let write = OwnedRwLockWriteGuard::try_map(write, |_| None::<&mut u8>).unwrap_err();
    let write = OwnedRwLockWriteGuard::into_mapped(write);
    let mut text = OwnedRwLockMappedWriteGuard::map(write, |pair| &mut pair.0);
    text.push('b');
    let weak = Arc::downgrade(&lock);
    drop(lock);
    assert!(OwnedRwLockMappedWriteGuard::rwlock(&text).try_read().is_err());
    let text = OwnedRwLockMappedWriteGuard::try_map(text, |_| None::<&mut u8>).unwrap_err();
    drop(text);
    assert!(weak.upgrade().is_none());

    let lock = Arc::new(RwLock::new((1, 2)));
    let back =
        OwnedRwLockWriteGuard::try_downgrade_map(lock.clone().try_write_owned().unwrap(), |_| {
            None::<&u8>
        });
    let read = OwnedRwLockWriteGuard::downgrade_map(back.unwrap_err(), |pair| &pair.1);
    assert_eq!((*read, lock.try_read().is_ok()), (2, true));
}

#[test]
fn debug_and_display_output() {
    let lock = RwLock::new(1);
    assert_eq!(format!("{lock:?}"), "RwLock { data: 1 }");
    let _writer = lock.try_write().unwrap();
    assert_eq!(format!("{lock:?}"), "RwLock { data: <locked> }");
}

#[test]
fn auto_traits() {
    fn check<T: Send + Sync + Unpin>() {}
    fn check_value<T: Send + Sync>(_: T) {}
    check::<RwLock<u32>>();
    check::<RwLockReadGuard<'_, u32>>();
    check::<RwLockWriteGuard<'_, u32>>();
    check::<RwLockMappedWriteGuard<'_, u32>>();
    check::<OwnedRwLockReadGuard<u32, i32>>();
    check::<OwnedRwLockWriteGuard<u32>>();
    check::<OwnedRwLockMappedWriteGuard<u32, i32>>();
    let lock = Arc::new(RwLock::new(0));
    check_value(lock.read());
    check_value(lock.write());
    check_value(lock.clone().read_owned());
    check_value(lock.clone().write_owned());
    let unsized_lock: Arc<RwLock<[u8]>> = Arc::new(RwLock::new([1, 2]));
    assert_eq!(unsized_lock.try_read_owned().unwrap().len(), 2);
}

#[test]
fn blocking_guards() {
    let lock = Arc::new(RwLock::new(0));
    let reader = lock.blocking_read();
    let other = std::thread::spawn({
        let lock = lock.clone();
        move || *lock.blocking_write() += 1
    });
    drop(reader);
    other.join().unwrap();
    assert_eq!(*lock.blocking_read(), 1);
}

#[test]
fn stress_readers_see_consistent_pairs() {
    stress(|seed| {
        let lock = Arc::new(RwLock::new((0, 0)));
        let threads: Vec<_> = (0..4)
            .map(|t| {
                let lock = lock.clone();
                let mut random = Random::new(seed * 4 + t);
                std::thread::spawn(move || {
                    let mut written = 0;
                    for _ in 0..300 {
                        match random.below(6) {
                            0 => {
                                let mut pair = block_on(lock.write());
                                pair.0 += 1;
                                pair.1 += 1;
                                written += 1;
                                let pair = pair.downgrade();
                                assert_eq!(pair.0, pair.1);
                            }
                            1 => drop(manual(lock.write()).poll()),
                            2 => drop(manual(lock.read()).poll()),
                            _ => {
                                let pair = block_on(lock.read());
                                assert_eq!(pair.0, pair.1);
                            }
                        }
                    }
                    written
                })
            })
            .collect();
        let written: i32 = threads.into_iter().map(|t| t.join().unwrap()).sum();
        assert_eq!(*lock.try_write().unwrap(), (written, written));
    });
}

#[test]
fn a_downgrade_keeps_the_lock_though_a_waker_panics() {
    let lock = Arc::new(RwLock::new(1));
    let writer = manual(lock.write()).ready();
    let mut reading = manual(lock.read());
    assert!(reading.poll_with(&panicking_waker()).is_pending());
    let reader = writer.downgrade();
    assert_eq!((*reader, *reading.ready()), (1, 1));
    assert!(lock.try_write().is_err());
    drop(reader);

    let writer = manual(lock.clone().write_owned()).ready();
    let mut reading = manual(lock.read());
    assert!(reading.poll_with(&panicking_waker()).is_pending());
    let reader = writer.downgrade();
    assert_eq!((*reader, *reading.ready()), (1, 1));
    assert!(lock.try_write().is_err());
}
