//! A task that has used up its budget has to wait, but keeps its place in the queue.

mod support;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use support::{Manual, manual};
use wakeful_base::budget;
use wakeful_sync::{Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce};
use wakeful_sync::{broadcast, mpsc, oneshot, watch};

/// Polls `future` in a task without budget left, and expects it to be pending.
#[track_caller]
fn pending_without_budget<F: Future>(future: &mut Manual<F>) {
    budget::with_initial(|| {
        while let Some(unit) = budget::proceed() {
            unit.made_progress();
        }
        future.pending();
    });
}

/// Checks that `spent`, which is polled first and without budget, is served before `other`, once
/// `taken` is dropped. Until then `taken` blocks both.
#[track_caller]
fn first_in_line<A: Future, B: Future>(taken: impl Sized, spent: A, other: B) {
    let (mut spent, mut other) = (manual(spent), manual(other));
    pending_without_budget(&mut spent);
    other.pending();
    drop(taken);
    assert!(spent.is_woken() && !other.is_woken());
    pending_without_budget(&mut spent);
    drop(spent.ready());
    assert!(other.is_woken());
    other.ready();
}

/// Returns how often `step` is ready within one poll; 1000 if the budget does not limit it.
fn ready_in_one_poll(mut step: impl FnMut(&mut Context<'_>) -> bool) -> usize {
    let mut cx = Context::from_waker(Waker::noop());
    budget::with_initial(|| (0..1000).take_while(|_| step(&mut cx)).count())
}

fn is_ready<F: Future>(cx: &mut Context<'_>, future: F) -> bool {
    pin!(future).poll(cx).is_ready()
}

#[test]
fn each_ready_operation_costs_one_unit() {
    let semaphore = Semaphore::new(10);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, semaphore.acquire_many(3))), 128);
    let mutex = Mutex::new(());
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, mutex.lock())), 128);
    let lock = RwLock::new(());
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, lock.read())), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, lock.write())), 128);

    let (tx, mut rx) = mpsc::channel(1000);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, tx.reserve())), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, tx.send(1))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, rx.recv_many(&mut Vec::new(), 0))), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, rx.recv())), 128);
    let (tx, mut rx) = mpsc::unbounded_channel();
    (0..1000).for_each(|i| tx.send(i).unwrap());
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, rx.recv())), 128);

    let receive_one = |cx: &mut Context<'_>| {
        let (tx, rx) = oneshot::channel();
        tx.send(1).unwrap();
        is_ready(cx, rx)
    };
    assert_eq!(ready_in_one_poll(receive_one), 128);
    let (tx, mut rx) = watch::channel(0);
    let see_change = |cx: &mut Context<'_>| {
        tx.send(1).unwrap();
        is_ready(cx, rx.changed())
    };
    assert_eq!(ready_in_one_poll(see_change), 128);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, rx.wait_for(|_| true))), 128);
    let (tx, mut rx) = broadcast::channel(1000);
    (0..1000).for_each(|i| assert_eq!(tx.send(i).unwrap(), 1));
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, rx.recv())), 128);
}

#[test]
fn stored_notifications_and_values_are_free() {
    let notify = Notify::new();
    let take_permit = |cx: &mut Context<'_>| {
        notify.notify_one();
        is_ready(cx, notify.notified())
    };
    assert_eq!(ready_in_one_poll(take_permit), 1000);
    let cell = OnceCell::from(1);
    let get = |cx: &mut Context<'_>| is_ready(cx, cell.get_or_init(|| std::future::ready(2)));
    assert_eq!(ready_in_one_poll(get), 1000);
    let set = SetOnce::from(1);
    assert_eq!(ready_in_one_poll(|cx| is_ready(cx, set.wait())), 1000);
}

#[test]
fn a_task_without_budget_is_queued() {
    let mutex = Mutex::new(());
    first_in_line(mutex.try_lock().unwrap(), mutex.lock(), mutex.lock());
    let mutex = Arc::new(mutex);
    let owned = mutex.clone().try_lock_owned().unwrap();
    first_in_line(owned, mutex.clone().lock_owned(), mutex.lock());

    let lock = RwLock::new(());
    first_in_line(lock.try_read().unwrap(), lock.write(), lock.read());
    first_in_line(lock.try_write().unwrap(), lock.read(), lock.write());

    let semaphore = Semaphore::new(3);
    let taken = semaphore.try_acquire().unwrap();
    first_in_line(taken, semaphore.acquire_many(3), semaphore.acquire());

    let (tx, _rx) = mpsc::channel::<()>(1);
    first_in_line(tx.try_reserve().unwrap(), tx.reserve(), tx.reserve());
}

#[test]
fn a_send_without_budget_is_queued() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(0).unwrap();
    let (mut spent, mut other) = (manual(tx.send(1)), manual(tx.send(2)));
    pending_without_budget(&mut spent);
    other.pending();
    assert_eq!(rx.try_recv(), Ok(0));
    assert!(spent.is_woken() && !other.is_woken());
    spent.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    other.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(2));
}

#[test]
fn a_cell_is_claimed_by_a_task_without_budget() {
    let cell = OnceCell::new();
    let mut spent = manual(cell.get_or_init(|| async { 1 }));
    pending_without_budget(&mut spent);
    assert!(cell.set(2).unwrap_err().is_initializing_err());
    assert_eq!(spent.ready(), &1);
    // A value that is already set costs no budget.
    budget::with_initial(|| {
        while let Some(unit) = budget::proceed() {
            unit.made_progress();
        }
        assert_eq!(manual(cell.get_or_init(|| async { 3 })).ready(), &1);
    });
}

#[test]
fn permits_of_a_task_without_budget_are_released_on_cancel() {
    let mutex = Mutex::new(());
    let mut spent = manual(mutex.lock());
    pending_without_budget(&mut spent);
    assert!(spent.is_woken(), "it has the lock, and waits for its next turn");
    assert!(mutex.try_lock().is_err());
    drop(spent);
    assert!(mutex.try_lock().is_ok());

    let (tx, mut rx) = mpsc::channel(1);
    let mut spent = manual(tx.send(1));
    pending_without_budget(&mut spent);
    assert!(tx.try_send(2).is_err());
    drop(spent);
    assert!(rx.try_recv().is_err());
    assert_eq!(tx.capacity(), 1);

    let semaphore = Semaphore::new(2);
    let mut spent = manual(semaphore.acquire_many(2));
    pending_without_budget(&mut spent);
    assert_eq!(semaphore.available_permits(), 0);
    semaphore.close();
    assert!(spent.ready().is_err());
    drop(spent);
    assert_eq!(semaphore.available_permits(), 2);
}
