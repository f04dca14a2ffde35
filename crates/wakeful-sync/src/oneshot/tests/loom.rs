use super::*;
use std::task::Waker;
use wakeful_base::sync::Arc;
use wakeful_base::sync::thread;

fn block_on<F: Future>(future: F) -> F::Output {
    crate::blocking::block_on("a model", "nothing", future)
}

/// With loom's `Arc` as the value, a leak or a second drop fails the model.
fn value() -> Arc<u32> {
    Arc::new(7)
}

#[test]
fn a_value_reaches_its_receiver() {
    ::loom::model(|| {
        let (tx, rx) = channel();
        let sender = thread::spawn(move || tx.send(value()).unwrap());
        assert_eq!(*block_on(rx).unwrap(), 7);
        sender.join().unwrap();
    });
}

#[test]
fn a_dropped_sender_is_reported_to_the_receiver() {
    ::loom::model(|| {
        let (tx, rx) = channel::<Arc<u32>>();
        let sender = thread::spawn(move || drop(tx));
        assert!(block_on(rx).is_err());
        sender.join().unwrap();
    });
}

#[test]
fn the_waker_changes_while_the_sender_sends() {
    ::loom::model(|| {
        let (tx, mut rx) = channel();
        assert!(Pin::new(&mut rx).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let sender = thread::spawn(move || tx.send(value()).unwrap());
        assert_eq!(*block_on(rx).unwrap(), 7);
        sender.join().unwrap();
    });
}

#[test]
fn close_races_with_send() {
    ::loom::model(|| {
        let (tx, mut rx) = channel();
        assert!(Pin::new(&mut rx).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        let sender = thread::spawn(move || tx.send(value()).is_ok());
        rx.close();
        let received = block_on(rx).is_ok();
        assert_eq!(sender.join().unwrap(), received);
    });
}

#[test]
fn drop_of_the_receiver_races_with_send() {
    ::loom::model(|| {
        let (tx, mut rx) = channel();
        let polled = Pin::new(&mut rx).poll(&mut Context::from_waker(Waker::noop()));
        assert!(polled.is_pending());
        let sender = thread::spawn(move || drop(tx.send(value())));
        drop(rx);
        sender.join().unwrap();
    });
}

#[test]
fn closed_returns_when_the_receiver_is_dropped() {
    ::loom::model(|| {
        let (mut tx, rx) = channel::<Arc<u32>>();
        assert!(tx.poll_closed(&mut Context::from_waker(Waker::noop())).is_pending());
        let receiver = thread::spawn(move || drop(rx));
        block_on(tx.closed());
        receiver.join().unwrap();
        assert!(tx.send(value()).is_err());
    });
}

#[test]
fn a_sender_sends_after_having_waited_while_the_receiver_closes() {
    ::loom::model(|| {
        let (mut tx, mut rx) = channel();
        assert!(tx.poll_closed(&mut Context::from_waker(Waker::noop())).is_pending());
        let receiver = thread::spawn(move || {
            rx.close();
            rx.try_recv().is_ok()
        });
        let sent = tx.send(value()).is_ok();
        assert_eq!(receiver.join().unwrap(), sent);
    });
}
