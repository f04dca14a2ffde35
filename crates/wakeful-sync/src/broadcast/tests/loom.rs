//! At most two threads in each model; the models of `Notify` explain why.

use super::*;
use std::future::Future;
use std::task::{Context, Waker};
use wakeful_base::sync::thread;

fn block_on<F: Future>(future: F) -> F::Output {
    crate::blocking::block_on("a model", "nothing", future)
}

/// With loom's `Arc` as the value, a leak or a second drop fails the model.
fn value(number: u32) -> Arc<u32> {
    Arc::new(number)
}

#[test]
fn values_and_the_close_reach_a_waiting_receiver() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(2);
        let sender = thread::spawn(move || {
            tx.send(value(1)).unwrap();
            tx.send(value(2)).unwrap();
        });
        assert_eq!(*block_on(rx.recv()).unwrap(), 1);
        assert_eq!(*block_on(rx.recv()).unwrap(), 2);
        assert_eq!(block_on(rx.recv()).unwrap_err(), RecvError::Closed);
        sender.join().unwrap();
    });
}

#[test]
fn a_slow_receiver_gets_the_missed_count() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(1);
        let sender = thread::spawn(move || {
            tx.send(value(1)).unwrap();
            tx.send(value(2)).unwrap();
        });
        let mut got = 0;
        loop {
            match block_on(rx.recv()) {
                Ok(_) => got += 1,
                Err(RecvError::Lagged(missed)) => got += missed,
                Err(RecvError::Closed) => break,
            }
        }
        assert_eq!(got, 2);
        sender.join().unwrap();
    });
}

#[test]
fn two_senders_use_two_slots() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(2);
        let other = tx.clone();
        let sender = thread::spawn(move || other.send(value(1)).unwrap());
        tx.send(value(2)).unwrap();
        sender.join().unwrap();
        let (first, second) = (*rx.try_recv().unwrap(), *rx.try_recv().unwrap());
        assert_eq!(first + second, 3);
    });
}

#[test]
fn a_receiver_is_dropped_during_a_send() {
    ::loom::model(|| {
        let (tx, quitter) = channel(2);
        let mut stayer = tx.subscribe();
        let sender = thread::spawn(move || {
            tx.send(value(1)).unwrap();
            tx
        });
        drop(quitter);
        assert_eq!(*block_on(stayer.recv()).unwrap(), 1);
        assert!(sender.join().unwrap().is_empty());
    });
}

#[test]
fn a_recv_is_cancelled_during_a_send() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(2);
        let sender = thread::spawn(move || tx.send(value(1)).unwrap());
        let mut got = 0;
        let mut wait = Box::pin(rx.recv());
        if wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            got += 1;
        }
        drop(wait);
        sender.join().unwrap();
        while rx.try_recv().is_ok() {
            got += 1;
        }
        assert_eq!(got, 1);
    });
}

#[test]
fn closed_returns_when_all_receivers_are_dropped() {
    ::loom::model(|| {
        let (tx, rx) = channel::<Arc<u32>>(1);
        let receiver = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        assert!(tx.send(value(1)).is_err());
        receiver.join().unwrap();
    });
}
