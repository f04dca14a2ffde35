use std::future::Future;
use std::pin::pin;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Waker};

use wakeful_base::block_on;
use wakeful_base::sync::atomic::AtomicUsize;
use wakeful_base::sync::{Arc, thread};

use super::*;

#[test]
fn a_permit_is_with_one_at_a_time() {
    ::loom::model(|| {
        let shared = Arc::new((BatchSemaphore::new(1), AtomicUsize::new(0)));
        let work = |shared: &(BatchSemaphore, AtomicUsize)| {
            block_on(shared.0.acquire(1)).unwrap();
            assert_eq!(shared.1.fetch_add(1, Relaxed), 0);
            shared.1.fetch_sub(1, Relaxed);
            shared.0.release(1);
        };
        let other = thread::spawn({
            let shared = shared.clone();
            move || work(&shared)
        });
        work(&shared);
        other.join().unwrap();
        assert_eq!(shared.0.available_permits(), 1);
    });
}

#[test]
fn a_batch_is_dealt_by_several() {
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
fn giving_up_races_with_a_grant() {
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
fn a_close_reaches_who_is_about_to_wait() {
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
