//! Where a thread may block on a channel or a lock, and where it may not.

mod support;

use std::sync::Arc;
use support::{each_flavor, multi_thread, panic_of};
use wakeful::runtime::Handle;
use wakeful::sync::{Mutex, RwLock, Semaphore, broadcast, mpsc, oneshot};
use wakeful::task::{block_in_place, spawn_blocking};

/// Sends messages back and forth and takes locks. Each side waits for the other at least once.
fn talk_blocking(mut rx: mpsc::Receiver<u32>, tx: mpsc::UnboundedSender<u32>) {
    while let Some(number) = rx.blocking_recv() {
        tx.send(number + 1).unwrap();
    }
    let lock = Arc::new(Mutex::new(RwLock::new(Semaphore::new(1))));
    let guard = lock.blocking_lock();
    drop(guard.blocking_read().blocking_acquire().unwrap());
}

async fn talk_async(tx: mpsc::Sender<u32>, mut rx: mpsc::UnboundedReceiver<u32>) {
    for number in 0..100 {
        tx.send(number).await.unwrap();
        assert_eq!(rx.recv().await, Some(number + 1));
    }
}

#[test]
fn a_pool_thread_may_block() {
    for runtime in each_flavor() {
        runtime.block_on(async {
            let (tx, rx) = mpsc::channel(1);
            let (tx_back, rx_back) = mpsc::unbounded_channel();
            let thread = spawn_blocking(move || talk_blocking(rx, tx_back));
            talk_async(tx, rx_back).await;
            thread.await.unwrap();
        });
    }
}

#[test]
fn a_task_may_block_inside_block_in_place() {
    multi_thread(1).block_on(async {
        let (tx, rx) = mpsc::channel(1);
        let (tx_back, rx_back) = mpsc::unbounded_channel();
        let waits = wakeful::spawn(async { block_in_place(|| talk_blocking(rx, tx_back)) });
        talk_async(tx, rx_back).await;
        waits.await.unwrap();
    });
}

#[test]
fn an_external_thread_may_block_inside_enter() {
    let runtime = multi_thread(1);
    let (tx, rx) = oneshot::channel();
    let _inside = runtime.enter();
    Handle::current().spawn(async { tx.send(1).unwrap() });
    assert_eq!(rx.blocking_recv(), Ok(1));
}

#[test]
fn blocking_in_a_task_panics_and_loses_nothing() {
    for runtime in each_flavor() {
        let (tx, mut rx) = mpsc::channel(1);
        let (btx, mut brx) = broadcast::channel(1);
        let (lock, semaphore) = (RwLock::new(1), Semaphore::new(1));
        runtime.block_on(async {
            tx.send(1).await.unwrap();
            btx.send(1).unwrap();
            let refused = |what: &str, call: &mut dyn FnMut()| {
                let (text, _) = panic_of(std::panic::AssertUnwindSafe(call));
                assert!(text.contains(what) && text.contains("await"), "{text}");
            };
            refused("Receiver::blocking_recv", &mut || _ = rx.blocking_recv());
            refused("blocking_recv_many", &mut || _ = rx.blocking_recv_many(&mut vec![], 1));
            refused("Sender::blocking_send", &mut || _ = tx.blocking_send(2));
            refused("blocking_recv", &mut || _ = brx.blocking_recv());
            refused("RwLock::blocking_read", &mut || _ = lock.blocking_read());
            refused("RwLock::blocking_write", &mut || _ = lock.blocking_write());
            refused("Semaphore::blocking_acquire", &mut || _ = semaphore.blocking_acquire());
            assert_eq!(rx.recv().await, Some(1));
            assert_eq!(brx.recv().await, Ok(1));
            assert_eq!(*lock.write().await, 1);
            assert_eq!(semaphore.available_permits(), 1);
        });
    }
}
