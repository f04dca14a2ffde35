//! What each future of this crate notes when it waits: the kind, the same object for all that wait
//! at the same thing, and what it knows of it.

mod support;

use std::sync::Arc;

use support::{Manual, manual};
use wakeful_base::waiting::{Leaf, LeafDetails, WaitKind, address};
use wakeful_sync::{
    Barrier, Mutex, Notify, OnceCell, RwLock, Semaphore, SetOnce, broadcast, mpsc, oneshot, watch,
};

/// Asks each of the futures, and checks that they wait for one thing of this kind.
macro_rules! waiting_at_one {
    ($kind:expr; $($future:expr),+ $(,)?) => {{
        let leaves: Vec<Leaf> = vec![$(keep(manual($future))),+];
        assert!(leaves.iter().all(|leaf| leaf.kind == $kind), "{leaves:?}");
        assert!(leaves.iter().all(|leaf| leaf.detail == leaves[0].detail), "{leaves:?}");
        assert_ne!(leaves[0].detail, 0);
        leaves
    }};
}

/// Asks a future, and lets it wait on.
#[track_caller]
fn keep<F: Future>(mut future: Manual<F>) -> Leaf {
    let leaf = future.leaf(3);
    assert_eq!(future.leaf(3).detail, leaf.detail, "a second poll notes the same");
    std::mem::forget(future);
    leaf
}

fn some(n: u64) -> Option<u64> {
    Some(n)
}

#[test]
fn locks() {
    // Their futures are forgotten while they are in the queue.
    let mutex: &'static Arc<Mutex<u32>> = Box::leak(Box::default());
    let _guard = mutex.try_lock().unwrap();
    let leaves = waiting_at_one!(WaitKind::Mutex; mutex.lock(), mutex.clone().lock_owned());
    let LeafDetails { holder, available, wanted, waiting, .. } = leaves[1].details;
    assert_eq!((holder, available, wanted, waiting), (None, some(0), some(1), some(2)));

    let lock: &'static Arc<RwLock<u32>> =
        Box::leak(Box::new(Arc::new(RwLock::with_max_readers(0, 5))));
    let _read = lock.try_read().unwrap();
    let writes = waiting_at_one!(WaitKind::RwLockWrite; lock.write(), lock.clone().write_owned());
    assert_eq!((writes[0].details.wanted, writes[0].details.waiting), (some(5), some(1)));
    let reads = waiting_at_one!(WaitKind::RwLockRead; lock.read(), lock.clone().read_owned());
    assert_eq!((reads[1].details.wanted, reads[1].details.waiting), (some(1), some(4)));
    assert_eq!(reads[0].detail, writes[0].detail);
}

#[test]
fn semaphores() {
    let semaphore: &'static Arc<Semaphore> = Box::leak(Box::new(Arc::new(Semaphore::new(3))));
    let mut batch = manual(semaphore.acquire_many(5));
    let leaf = batch.leaf(3);
    let LeafDetails { available, wanted, waiting, holder, .. } = leaf.details;
    assert_eq!((available, wanted, waiting, holder), (some(0), some(5), some(1), None));
    let leaves = waiting_at_one!(WaitKind::Semaphore;
        semaphore.acquire(),
        semaphore.clone().acquire_owned(),
        semaphore.clone().acquire_many_owned(2),
    );
    assert_eq!(leaves[0].detail, leaf.detail);
    assert_eq!(leaves[0].detail, address::<Semaphore>(semaphore));
}

#[test]
fn mpsc_channels() {
    let (tx, mut rx) = mpsc::channel::<u32>(2);
    let tx: &'static mpsc::Sender<u32> = Box::leak(Box::new(tx));
    let closed = waiting_at_one!(WaitKind::Closed; tx.closed());
    let received = manual(rx.recv()).leaf(3);
    assert_eq!((received.kind, received.detail), (WaitKind::MpscRecv, closed[0].detail));
    let LeafDetails { available, limit, senders, receivers, receiver, .. } = received.details;
    assert_eq!((available, limit, receiver), (some(0), some(2), some(3)));
    assert_eq!((senders, receivers), (some(1), some(1)));
    assert_eq!(manual(rx.recv_many(&mut Vec::new(), 4)).leaf(4).details.receiver, some(4));

    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let other: &'static mpsc::Sender<u32> = Box::leak(Box::new(tx.clone()));
    let sends = waiting_at_one!(WaitKind::MpscSend;
        tx.send(3), other.reserve(), tx.reserve_many(2), other.clone().reserve_owned(),
    );
    assert_eq!(sends[0].detail, received.detail);
    let LeafDetails { available, limit, senders, wanted, waiting, .. } = sends[2].details;
    assert_eq!((available, limit, wanted, waiting), (some(0), some(2), some(2), some(3)));
    assert_eq!((senders, sends[2].details.receiver), (some(2), some(4)));

    let (tx, mut rx) = mpsc::unbounded_channel::<u32>();
    let leaf = manual(rx.recv()).leaf(3);
    assert_eq!((leaf.kind, leaf.details.limit), (WaitKind::MpscRecv, None));
    assert_eq!(manual(tx.closed()).leaf(3).detail, leaf.detail);
}

#[test]
fn oneshot_channels() {
    let (mut tx, mut rx) = oneshot::channel::<u32>();
    let received = manual(&mut rx).leaf(3);
    assert_eq!(received.kind, WaitKind::OneshotRecv);
    assert_eq!((received.details.senders, received.details.receivers), (some(1), some(1)));
    let closed = manual(tx.closed()).leaf(3);
    assert_eq!((closed.kind, closed.detail), (WaitKind::Closed, received.detail));
}

#[test]
fn notifications() {
    let notify: &'static Arc<Notify> = Box::leak(Box::default());
    let leaves =
        waiting_at_one!(WaitKind::Notify; notify.notified(), notify.clone().notified_owned());
    assert_eq!(leaves[0].detail, address::<Notify>(notify));
}

#[test]
fn watch_channels() {
    let (tx, mut rx) = watch::channel(0);
    let _second = (tx.clone(), rx.clone(), rx.clone());
    let changed = manual(rx.changed()).leaf(3);
    assert_eq!(changed.kind, WaitKind::Watch);
    assert_eq!((changed.details.senders, changed.details.receivers), (some(2), some(3)));
    assert_eq!(manual(rx.wait_for(|value| *value == 1)).leaf(3).detail, changed.detail);
    let closed = manual(tx.closed()).leaf(3);
    assert_eq!((closed.kind, closed.detail), (WaitKind::Closed, changed.detail));
}

#[test]
fn broadcast_channels() {
    let (tx, mut rx) = broadcast::channel::<u32>(4);
    let _second = rx.resubscribe();
    let received = manual(rx.recv()).leaf(3);
    assert_eq!(received.kind, WaitKind::Broadcast);
    let LeafDetails { limit, senders, receivers, .. } = received.details;
    assert_eq!((limit, senders, receivers), (some(4), some(1), some(2)));
    let closed = manual(tx.closed()).leaf(3);
    assert_eq!((closed.kind, closed.detail), (WaitKind::Closed, received.detail));
}

#[test]
fn barriers() {
    let barrier = Barrier::new(3);
    let mut first = manual(barrier.wait());
    assert_eq!(first.leaf(3).details.waiting, some(1));
    let second = manual(barrier.wait()).leaf(3);
    assert_eq!((second.kind, second.detail), (WaitKind::Barrier, address(&barrier)));
    assert_eq!((second.details.waiting, second.details.limit), (some(2), some(3)));
}

#[test]
fn cells() {
    let cell = OnceCell::new();
    let mut first = manual(cell.get_or_init(std::future::pending::<u32>));
    first.pending();
    let waits = manual(cell.get_or_init(|| async { 2 })).leaf(3);
    assert_eq!((waits.kind, waits.detail), (WaitKind::OnceCell, address(&cell)));

    let set: &'static SetOnce<u32> = Box::leak(Box::default());
    waiting_at_one!(WaitKind::OnceCell; set.wait(), set.wait());
}

#[test]
fn a_future_that_is_ready_but_has_no_budget_waits_for_its_turn() {
    use wakeful_base::budget;
    let semaphore = Semaphore::new(1);
    let mutex = Mutex::new(0);
    let (mut acquire, mut lock) = (manual(semaphore.acquire()), manual(mutex.lock()));
    budget::with_initial(|| {
        while let Some(unit) = budget::proceed() {
            unit.made_progress();
        }
        for leaf in [acquire.leaf(3), lock.leaf(3)] {
            assert_eq!((leaf.kind, leaf.detail), (WaitKind::Turn, 0));
        }
    });
    acquire.ready().unwrap().forget();
    assert_eq!(*lock.ready(), 0);
}
