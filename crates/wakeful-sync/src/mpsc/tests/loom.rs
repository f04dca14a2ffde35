use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Context, Waker};

use wakeful_base::block_on;
use wakeful_base::sync::thread;

use super::error::TryRecvError;
use super::*;

/// Counts its drops with an atomic that loom does not model, so that it adds no interleavings.
struct Counted(Arc<AtomicUsize>, usize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn two_senders_one_bound() {
    // Three threads that all wait for each other: with a bound of two preemptions this ends within
    // seconds, with more it does not.
    let mut model = ::loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let (tx, mut rx) = channel(1);
        let other = thread::spawn({
            let tx = tx.clone();
            move || block_on(tx.send(1)).unwrap()
        });
        let own = thread::spawn(move || block_on(tx.send(2)).unwrap());
        let sum: i32 = (0..2).map(|_| block_on(rx.recv()).unwrap()).sum();
        assert_eq!((sum, block_on(rx.recv())), (3, None));
        other.join().unwrap();
        own.join().unwrap();
    });
}

#[test]
fn a_sender_crosses_blocks_in_order() {
    ::loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let sender = thread::spawn(move || (0..3).for_each(|i| tx.send(i).unwrap()));
        for i in 0..3 {
            assert_eq!(block_on(rx.recv()), Some(i));
        }
        assert_eq!(block_on(rx.recv()), None);
        sender.join().unwrap();
    });
}

#[test]
fn two_senders_race_for_the_last_slot_of_a_block() {
    ::loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        tx.send(0).unwrap();
        let other = thread::spawn({
            let tx = tx.clone();
            move || (1..3).for_each(|i| tx.send(i).unwrap())
        });
        tx.send(10).unwrap();
        drop(tx);
        other.join().unwrap();
        let mut got = Vec::new();
        while let Ok(value) = rx.try_recv() {
            got.push(value);
        }
        got.retain(|value| *value != 10);
        assert_eq!(got, [0, 1, 2]);
    });
}

#[test]
fn a_waiting_sender_is_woken_by_room() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(1);
        tx.try_send(0).unwrap();
        let sender = thread::spawn(move || {
            block_on(tx.send(1)).unwrap();
            block_on(tx.send(2)).unwrap();
        });
        for i in 0..3 {
            assert_eq!(block_on(rx.recv()), Some(i));
        }
        sender.join().unwrap();
        assert_eq!(rx.capacity(), 1);
    });
}

#[test]
fn cancelling_a_reserve_races_with_room() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(1);
        tx.try_send(0).unwrap();
        let sender = thread::spawn(move || {
            let mut reserve = pin!(tx.reserve());
            let _ = reserve.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        });
        assert_eq!(block_on(rx.recv()), Some(0));
        sender.join().unwrap();
        assert_eq!(rx.capacity(), 1);
        assert_eq!(block_on(rx.recv()), None);
    });
}

#[test]
fn a_close_races_with_a_send() {
    ::loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (tx, mut rx) = channel(2);
        let sender = thread::spawn({
            let drops = drops.clone();
            move || {
                let sent = block_on(tx.send(Counted(drops.clone(), 1))).is_ok();
                (sent, tx)
            }
        });
        rx.close();
        let got = block_on(rx.recv());
        let (sent, tx) = sender.join().unwrap();
        assert_eq!(sent, got.is_some());
        assert_eq!(got.as_ref().map_or(1, |value| value.1), 1);
        drop((got, tx, rx));
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn a_dropped_receiver_drops_each_value_once() {
    ::loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = unbounded_channel();
        let sender = thread::spawn({
            let drops = drops.clone();
            move || (0..3).for_each(|i| drop(tx.send(Counted(drops.clone(), i))))
        });
        drop(rx);
        sender.join().unwrap();
        assert_eq!(drops.load(SeqCst), 3);
    });
}

#[test]
fn a_dropped_receiver_drops_values_while_a_sender_lives() {
    ::loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = channel(1);
        let sender = thread::spawn({
            let drops = drops.clone();
            move || {
                drop(tx.try_send(Counted(drops, 1)));
                tx
            }
        });
        drop(rx);
        let _stays = sender.join().unwrap();
        assert_eq!(drops.load(SeqCst), 1);
    });
}

#[test]
fn a_dropped_receiver_drops_the_value_of_a_sender_that_waited() {
    ::loom::model(|| {
        let drops = Arc::new(AtomicUsize::new(0));
        let (tx, mut rx) = channel(1);
        tx.try_send(Counted(drops.clone(), 0)).ok().unwrap();
        let sender = thread::spawn({
            let drops = drops.clone();
            move || {
                drop(block_on(tx.send(Counted(drops, 1))));
                tx
            }
        });
        drop(rx.try_recv());
        drop(rx);
        let _stays = sender.join().unwrap();
        assert_eq!(drops.load(SeqCst), 2);
    });
}

#[test]
fn the_receiver_of_a_closed_channel_waits_for_permits() {
    ::loom::model(|| {
        let (tx, mut rx) = channel::<u8>(1);
        let permit = tx.try_reserve_owned().unwrap();
        rx.close();
        let holder = thread::spawn(move || permit.release());
        assert_eq!(block_on(rx.recv()), None);
        drop(holder.join().unwrap());
    });
}

#[test]
fn try_recv_never_misses_a_sent_value() {
    ::loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let other = thread::spawn({
            let tx = tx.clone();
            move || tx.send(1).unwrap()
        });
        tx.send(2).unwrap();
        assert!(rx.try_recv().is_ok(), "one value at least has been sent by now");
        other.join().unwrap();
        drop(tx);
        assert!(rx.try_recv().is_ok());
        assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
    });
}

#[test]
fn upgrade_races_with_the_drop_of_the_last_sender() {
    ::loom::model(|| {
        let (tx, mut rx) = unbounded_channel();
        let weak = tx.downgrade();
        let last = thread::spawn(move || drop(tx));
        let sent = weak.upgrade().map(|tx| tx.send(1).unwrap());
        assert_eq!(block_on(rx.recv()), sent.map(|()| 1));
        assert_eq!(block_on(rx.recv()), None);
        last.join().unwrap();
    });
}

#[test]
fn closed_returns_when_the_receiver_is_dropped() {
    ::loom::model(|| {
        let (tx, rx) = channel::<u32>(1);
        let receiver = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        assert!(tx.is_closed());
        receiver.join().unwrap();
    });
}
