//! Checks that waiting does not allocate: a waiter's memory is a part of its future.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use wakeful_sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc, oneshot, watch,
};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: all calls are forwarded to the system allocator, which satisfies the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: by contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: by contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How many futures wait: more than are woken under one hold of a lock (32).
const WAITERS: usize = 100;

/// Polls many futures, drops a third of them, calls `release`, and polls the others to completion.
/// Asserts that nothing of this allocates.
#[track_caller]
fn assert_waits_without_allocating<F: Future>(
    waiters: impl Iterator<Item = F>,
    release: impl FnOnce(),
) {
    let mut waiters: Vec<Option<Pin<Box<F>>>> = waiters.map(|f| Some(Box::pin(f))).collect();
    let mut cx = Context::from_waker(Waker::noop());
    let before = ALLOCATIONS.get();
    for waiter in waiters.iter_mut().flatten() {
        assert!(waiter.as_mut().poll(&mut cx).is_pending());
        assert!(waiter.as_mut().poll(&mut cx).is_pending());
    }
    waiters.iter_mut().step_by(3).skip(1).for_each(|waiter| *waiter = None);
    release();
    for waiter in &mut waiters {
        if let Some(waiter) = waiter {
            assert!(waiter.as_mut().poll(&mut cx).is_ready());
        }
        *waiter = None;
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
}

fn many<F>(waiter: impl FnMut(usize) -> F) -> impl Iterator<Item = F> {
    (0..WAITERS).map(waiter)
}

#[test]
fn the_count_is_right() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(Box::new(1)));
    assert_eq!(ALLOCATIONS.get() - before, 1);
}

#[test]
fn notify_waits_without_allocating() {
    let notify = Notify::new();
    assert_waits_without_allocating(many(|_| notify.notified()), || {
        (0..WAITERS).for_each(|_| notify.notify_one());
    });
    let notify = Notify::new();
    assert_waits_without_allocating(many(|_| notify.notified()), || notify.notify_waiters());
}

#[test]
fn semaphore_and_locks_wait_without_allocating() {
    let semaphore = Semaphore::new(0);
    let two = |_| async { semaphore.acquire_many(2).await.unwrap().forget() };
    assert_waits_without_allocating(many(two), || semaphore.add_permits(2 * WAITERS));
    semaphore.forget_permits(2 * WAITERS);
    assert_waits_without_allocating(many(|_| semaphore.acquire()), || semaphore.close());

    let mutex = Mutex::new(());
    let guard = mutex.try_lock().unwrap();
    assert_waits_without_allocating(many(|_| async { drop(mutex.lock().await) }), || drop(guard));

    let lock = RwLock::new(());
    let guard = lock.try_write().unwrap();
    assert_waits_without_allocating(many(|_| lock.read()), || drop(guard));
    let guard = lock.try_read().unwrap();
    assert_waits_without_allocating(many(|_| async { drop(lock.write().await) }), || drop(guard));
}

#[test]
fn channels_wait_without_allocating() {
    let (tx, mut rx) = mpsc::channel(1);
    assert_waits_without_allocating(std::iter::once(rx.recv()), || tx.try_send(1).unwrap());
    tx.try_send(2).unwrap();
    assert_waits_without_allocating(many(|_| async { drop(tx.reserve().await.unwrap()) }), || {
        assert_eq!(rx.try_recv(), Ok(2));
    });
    assert_waits_without_allocating(many(|_| tx.closed()), || rx.close());

    let (tx, rx) = oneshot::channel();
    assert_waits_without_allocating(std::iter::once(rx), || tx.send(1).unwrap());

    let (tx, rx) = watch::channel(0);
    let changed = |_| {
        let mut rx = rx.clone();
        async move { rx.changed().await.unwrap() }
    };
    assert_waits_without_allocating(many(changed), || tx.send(1).unwrap());

    let (tx, _rx) = broadcast::channel(1);
    let recv = |_| {
        let mut rx = tx.subscribe();
        async move { rx.recv().await.unwrap() }
    };
    assert_waits_without_allocating(many(recv), || {
        assert!(tx.send(1).is_ok());
    });
}

#[test]
fn barrier_and_cells_wait_without_allocating() {
    let barrier = Barrier::new(WAITERS + 1);
    assert_waits_without_allocating(many(|_| barrier.wait()), || {
        let mut last = std::pin::pin!(barrier.wait());
        assert!(last.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    });

    let cell = OnceCell::new();
    let notify = Notify::new();
    let mut making = Box::pin(cell.get_or_init(|| notify.notified()));
    let mut cx = Context::from_waker(Waker::noop());
    assert!(making.as_mut().poll(&mut cx).is_pending());
    assert_waits_without_allocating(many(|_| cell.get_or_init(|| std::future::ready(()))), || {
        notify.notify_one();
        assert_eq!(making.as_mut().poll(&mut cx), Poll::Ready(&()));
    });

    let set = SetOnce::new();
    assert_waits_without_allocating(many(|_| set.wait()), || set.set(1).unwrap());
}
