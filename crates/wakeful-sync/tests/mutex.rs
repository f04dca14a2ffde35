//! Tests of [`Mutex`]: one holder at a time, in the order of requests; guards for parts of the
//! value.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use support::{manual, stress};
use wakeful_base::block_on;
use wakeful_sync::{MappedMutexGuard, Mutex, MutexGuard, OwnedMappedMutexGuard, OwnedMutexGuard};

#[test]
fn one_holder_at_a_time_in_request_order() {
    let mutex = Mutex::new(0);
    let mut guard = manual(mutex.lock()).ready();
    let mut first = manual(mutex.lock());
    let mut second = manual(mutex.lock());
    first.pending();
    second.pending();
    *guard += 1;
    drop(guard);
    assert!(first.is_woken() && !second.is_woken());
    assert!(mutex.try_lock().is_err(), "the lock already belongs to the first in line");
    second.pending();
    drop(first);
    assert_eq!(*second.ready(), 1);
    drop(second);
    assert_eq!(mutex.into_inner(), 1);
}

#[test]
fn a_panic_unlocks_and_poisons_nothing() {
    let mutex = Mutex::new(1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _guard = mutex.try_lock().unwrap();
        panic!("while locked");
    }));
    assert!(panicked.is_err());
    assert_eq!(*mutex.try_lock().unwrap(), 1);
}

#[test]
fn guards_narrow_to_parts() {
    let mut mutex = Mutex::new((1, Some(2)));
    let guard = mutex.try_lock().unwrap();
    assert!(std::ptr::eq(MutexGuard::mutex(&guard), &mutex));
    let second = MutexGuard::map(guard, |pair| &mut pair.1);
    let mut inner = MappedMutexGuard::try_map(second, Option::as_mut).unwrap();
    *inner = 5;
    assert!(mutex.try_lock().is_err());
    let whole = MappedMutexGuard::map(inner, |number| number);
    drop(whole);
    assert_eq!(*mutex.get_mut(), (1, Some(5)));

    *mutex.get_mut() = (1, None);
    let back = MutexGuard::try_map(mutex.try_lock().unwrap(), |pair| pair.1.as_mut());
    assert_eq!(*back.unwrap_err(), (1, None));
    assert!(mutex.try_lock().is_ok());
}

#[test]
fn owned_guards_narrow_and_keep_the_mutex_alive() {
    let mutex = Arc::new(Mutex::new((String::from("a"), 2)));
    let guard = manual(mutex.clone().lock_owned()).ready();
    assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
    let text = OwnedMutexGuard::map(guard, |pair| &mut pair.0);
    let weak = Arc::downgrade(&mutex);
    drop(mutex);
    let back = OwnedMappedMutexGuard::try_map(text, |_| None::<&mut u8>).unwrap_err();
    assert_eq!(format!("{back} {back:?}"), "a \"a\"");
    assert!(weak.upgrade().unwrap().try_lock_owned().is_err());
    drop(OwnedMappedMutexGuard::map(back, |text| text));
    assert!(weak.upgrade().is_none());
}

#[test]
fn unsized_values_can_be_locked() {
    let mutex: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2, 3]));
    mutex.try_lock().unwrap()[0] = 9;
    assert_eq!(manual(mutex.lock_owned()).ready()[..], [9, 2, 3]);
}

#[test]
fn debug_and_display_output() {
    let mutex = Mutex::new(1);
    assert_eq!(format!("{mutex:?}"), "Mutex { data: 1 }");
    let guard = mutex.try_lock().unwrap();
    assert_eq!(format!("{mutex:?} {guard:?} {guard}"), "Mutex { data: <locked> } 1 1");
    let error = mutex.try_lock().unwrap_err();
    assert_eq!(format!("{error} {error:?}"), "operation would block TryLockError(())");
}

#[test]
fn auto_traits() {
    fn send<T: Send>() {}
    fn send_sync_value<T: Send + Sync>(_: T) {}
    fn unpin<T: Unpin>() {}
    send::<MutexGuard<'_, u32>>();
    send::<OwnedMutexGuard<u32>>();
    send::<MappedMutexGuard<'_, u32>>();
    send::<OwnedMappedMutexGuard<u32, u8>>();
    unpin::<Mutex<u32>>();
    let mutex = Arc::new(Mutex::new(1));
    send_sync_value(mutex.lock());
    send_sync_value(mutex.clone().lock_owned());
}

#[test]
fn stress_every_addition_counts() {
    stress(|_| {
        let mutex = Arc::new(Mutex::new(0));
        let threads: Vec<_> = (0..4)
            .map(|t| {
                let mutex = mutex.clone();
                std::thread::spawn(move || {
                    for i in 0..500 {
                        if (i + t) % 7 == 0 {
                            let _ = manual(mutex.lock()).poll().is_ready();
                        }
                        if t == 0 {
                            *mutex.blocking_lock() += 1;
                        } else {
                            *block_on(mutex.clone().lock_owned()) += 1;
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(*mutex.try_lock().unwrap(), 2000);
    });
}
