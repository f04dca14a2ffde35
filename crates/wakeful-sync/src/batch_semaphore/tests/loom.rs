use std::future::Future;
use std::pin::pin;
use std::task::{Context, Waker};

use wakeful_base::block_on;
use wakeful_base::sync::{Arc, UnsafeCell, thread};

use super::*;

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
        let shared =
            Arc::new(Guarded { permits: BatchSemaphore::new(1), value: UnsafeCell::new(0) });
        let work = |shared: &Guarded| {
            block_on(shared.permits.acquire(1)).unwrap();
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
        let semaphore = Arc::new(BatchSemaphore::new(1));
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
        let semaphore = Arc::new(BatchSemaphore::new(0));
        let givers: Vec<_> = (0..2)
            .map(|_| {
                let semaphore = semaphore.clone();
                thread::spawn(move || semaphore.release(1))
            })
            .collect();
        block_on(semaphore.acquire(2)).unwrap();
        givers.into_iter().for_each(|g| g.join().unwrap());
        assert_eq!(semaphore.available_permits(), 0);
    });
}

#[test]
fn cancellation_races_with_a_grant() {
    ::loom::model(|| {
        let semaphore = Arc::new(BatchSemaphore::new(1));
        let giver = thread::spawn({
            let semaphore = semaphore.clone();
            move || semaphore.release(1)
        });
        {
            let mut given_up = pin!(semaphore.acquire(2));
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
        let semaphore = Arc::new(BatchSemaphore::new(1));
        let closer = thread::spawn({
            let semaphore = semaphore.clone();
            move || semaphore.close()
        });
        assert!(block_on(semaphore.acquire(2)).is_err());
        closer.join().unwrap();
        assert_eq!(semaphore.available_permits(), 1);
    });
}
