//! At most two threads in each model; the models of `Notify` explain why.

use super::*;
use std::future::Future;
use std::task::{Context, Waker};
use wakeful_base::sync::thread;

fn block_on<F: Future>(future: F) -> F::Output {
    crate::blocking::block_on("a model", "nothing", future)
}

fn is_pending_once<F: Future>(future: F) -> bool {
    std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop())).is_pending()
}

#[test]
fn a_change_reaches_a_waiting_receiver() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(0);
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx
        });
        block_on(rx.changed()).unwrap();
        assert_eq!(*rx.borrow(), 1);
        assert!(!rx.borrow_and_update().has_changed());
        drop(sender.join().unwrap());
        assert!(block_on(rx.changed()).is_err());
    });
}

#[test]
fn the_close_reaches_a_waiting_receiver() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(0);
        let sender = thread::spawn(move || drop(tx));
        assert!(block_on(rx.changed()).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn the_last_value_is_seen_before_the_close() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(0);
        let sender = thread::spawn(move || tx.send(1).unwrap());
        block_on(rx.changed()).unwrap();
        assert_eq!(*rx.borrow_and_update(), 1);
        assert!(block_on(rx.changed()).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn one_wait_is_cancelled_while_another_is_woken() {
    ::loom::model(|| {
        let (tx, mut quitter) = channel(0);
        let mut stayer = quitter.clone();
        let sender = thread::spawn(move || tx.send(1).unwrap());
        let gave_up = is_pending_once(quitter.changed());
        assert!(block_on(stayer.changed()).is_ok());
        // A cancelled wait has not marked the value as seen.
        assert_eq!(quitter.borrow().has_changed(), gave_up);
        sender.join().unwrap();
    });
}

#[test]
fn a_version_belongs_to_its_value() {
    ::loom::model(|| {
        let (tx, mut rx) = channel(0);
        let sender = thread::spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        let first = *rx.borrow_and_update();
        let again = rx.borrow_and_update();
        assert_eq!(*again != first, again.has_changed());
        drop(again);
        sender.join().unwrap();
    });
}

#[test]
fn closed_returns_when_all_receivers_are_dropped() {
    ::loom::model(|| {
        let (tx, rx) = channel(0);
        let receiver = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        assert!(tx.send(1).is_err());
        receiver.join().unwrap();
    });
}
