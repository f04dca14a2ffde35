use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use wakeful_base::block_on;
use wakeful_base::sync::{Arc, UnsafeCell, thread};
use wakeful_base::waiting::{WaitSlot, enter, holdings};

use super::*;
use crate::holder::HolderWord;

/// A value guarded by a permit. Loom reports if two threads access it at once, or if one does not
/// see what another did before.
struct Guarded {
    permits: BatchSemaphore,
    value: UnsafeCell<u32>,
}

// SAFETY: `value` is only accessed with the permit. That this suffices is what the models check.
unsafe impl Sync for Guarded {}

#[test]
fn one_permit_has_one_holder_at_a_time() {
    ::loom::model(|| {
        let shared = Arc::new(Guarded {
            permits: BatchSemaphore::new(1, NotTracked),
            value: UnsafeCell::new(0),
        });
        let work = |shared: &Guarded| {
            block_on(shared.permits.acquire::<{ WaitKind::Semaphore as u8 }>(1)).unwrap();
            // SAFETY: this thread holds the only permit.
            shared.value.with_mut(|value| unsafe { *value += 1 });
            shared.permits.release(1);
        };
        let other = thread::spawn({
            let shared = shared.clone();
            move || work(&shared)
        });
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.permits.available_permits(), 1);
        // SAFETY: the other thread has ended.
        assert_eq!(shared.value.with(|value| unsafe { *value }), 2);
    });
}

#[test]
fn permits_are_forgotten_while_others_are_put_and_taken() {
    ::loom::model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(1, NotTracked));
        let user = thread::spawn({
            let semaphore = semaphore.clone();
            move || {
                let taken = semaphore.try_acquire(1).is_ok();
                semaphore.release(2);
                taken
            }
        });
        let forgotten = semaphore.forget_permits(2);
        let taken = user.join().unwrap();
        assert_eq!(semaphore.available_permits(), 3 - forgotten - usize::from(taken));
    });
}

#[test]
fn a_batch_is_filled_by_several_releases() {
    ::loom::model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(0, NotTracked));
        let givers: Vec<_> = (0..2)
            .map(|_| {
                let semaphore = semaphore.clone();
                thread::spawn(move || semaphore.release(1))
            })
            .collect();
        block_on(semaphore.acquire::<{ WaitKind::Semaphore as u8 }>(2)).unwrap();
        givers.into_iter().for_each(|g| g.join().unwrap());
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn cancellation_races_with_a_grant() {
    ::loom::model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(1, NotTracked));
        let giver = thread::spawn({
            let semaphore = semaphore.clone();
            move || semaphore.release(1)
        });
        {
            let mut given_up = pin!(semaphore.acquire::<{ WaitKind::Semaphore as u8 }>(2));
            let _ = given_up.as_mut().poll(&mut Context::from_waker(Waker::noop())).map(|taken| {
                taken.unwrap();
                semaphore.release(2);
            });
        }
        giver.join().unwrap();
        assert_eq!(semaphore.available_permits(), 2);
    });
}

#[test]
fn close_reaches_a_task_that_is_about_to_wait() {
    ::loom::model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(1, NotTracked));
        let closer = thread::spawn({
            let semaphore = semaphore.clone();
            move || semaphore.close()
        });
        assert!(block_on(semaphore.acquire::<{ WaitKind::Semaphore as u8 }>(2)).is_err());
        closer.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    });
}

const MUTEX: u8 = WaitKind::Mutex as u8;
const READ: u8 = WaitKind::RwLockRead as u8;
const WRITE: u8 = WaitKind::RwLockWrite as u8;

/// Checks a model in a watched process.
fn watched_model(f: impl Fn() + Sync + Send + 'static) {
    holdings::watch();
    ::loom::model(f);
}

/// Calls `f` as the poll of a task with this id.
fn as_task<R>(id: u64, f: impl FnOnce() -> R) -> R {
    let slot = WaitSlot::new(id);
    // SAFETY: the slot outlives the guard and is in no queue.
    let _current = unsafe { enter(&raw const slot) };
    f()
}

/// Takes all `n` permits as task `id`, checks that the holder word says so, and releases them.
fn hold_all<const KIND: u8>(semaphore: &BatchSemaphore<HolderWord>, id: u64, n: usize) {
    as_task(id, || {
        block_on(semaphore.acquire::<KIND>(n)).unwrap();
        let holder = semaphore.holder.holder().unwrap();
        assert_eq!((u64::from(holder.id_low), holder.is_granted), (id, false));
        semaphore.release(n);
    });
}

#[test]
fn the_holder_word_names_the_task_that_collected_the_permit() {
    watched_model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(1, HolderWord::new()));
        let other = thread::spawn({
            let semaphore = semaphore.clone();
            move || hold_all::<MUTEX>(&semaphore, 7, 1)
        });
        hold_all::<MUTEX>(&semaphore, 5, 1);
        other.join().unwrap();
        assert_eq!(semaphore.holder.holder(), None);
    });
}

#[test]
fn a_dropped_grant_leaves_no_holder() {
    watched_model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(1, HolderWord::new()));
        semaphore.try_acquire(1).unwrap();
        semaphore.holder.hold();
        let releases = thread::spawn({
            let semaphore = semaphore.clone();
            move || semaphore.release(1)
        });
        as_task(7, || {
            let mut given_up = pin!(semaphore.acquire::<MUTEX>(1));
            let polled = given_up.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if polled.is_ready() {
                semaphore.release(1);
            }
        });
        releases.join().unwrap();
        assert_eq!((semaphore.available_permits(), semaphore.holder.holder()), (1, None));
        hold_all::<MUTEX>(&semaphore, 5, 1);
    });
}

#[test]
fn a_grant_that_nobody_collects_names_the_waiter() {
    watched_model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(0, HolderWord::new()));
        let mut waits = Box::pin(semaphore.acquire::<MUTEX>(1));
        as_task(7, || {
            let polled = waits.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            assert!(polled.is_pending());
        });
        let releases = thread::spawn({
            let semaphore = semaphore.clone();
            move || semaphore.release(1)
        });
        // A look while the permit is on its way finds no holder, or the waiter's grant.
        let seen = semaphore.holder.holder();
        assert!(seen.is_none_or(|holder| holder.id_low == 7 && holder.is_granted));
        releases.join().unwrap();
        let holder = semaphore.holder.holder().unwrap();
        assert_eq!((holder.id_low, holder.is_granted), (7, true));
        drop(waits);
        assert_eq!(semaphore.holder.holder(), None);
    });
}

#[test]
fn readers_leave_no_trace_in_the_holder_word() {
    watched_model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(2, HolderWord::new()));
        let reads = thread::spawn({
            let semaphore = semaphore.clone();
            move || {
                as_task(7, || {
                    block_on(semaphore.acquire::<READ>(1)).unwrap();
                    assert_eq!(semaphore.holder.holder(), None);
                    semaphore.release(1);
                });
            }
        });
        hold_all::<WRITE>(&semaphore, 5, 2);
        reads.join().unwrap();
        assert_eq!(semaphore.holder.holder(), None);
    });
}
