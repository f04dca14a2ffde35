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

/// Returns a waker whose clones panic when they are dropped. Wakers of different numbers wake
/// different tasks.
fn clones_panic(number: usize) -> Waker {
    use std::task::{RawWaker, RawWakerVTable};
    static ORIGINAL: RawWakerVTable =
        RawWakerVTable::new(|data| RawWaker::new(data, &CLONE), |_| (), |_| (), |_| ());
    static CLONE: RawWakerVTable = RawWakerVTable::new(
        |data| RawWaker::new(data, &CLONE),
        |_| (),
        |_| (),
        |_| std::panic::resume_unwind(Box::new("the drop of a waker panics")),
    );
    // SAFETY: the vtables' functions ignore the data.
    unsafe { Waker::new(std::ptr::without_provenance(number), &ORIGINAL) }
}

/// The receiver drops the waker it has replaced and the one it has registered too late.
#[test]
fn the_waker_changes_while_the_sender_sends_and_the_drops_of_both_panic() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    ::loom::model(|| {
        let (tx, mut rx) = channel();
        let mut poll = |number| {
            let waker = clones_panic(number);
            Pin::new(&mut rx).poll(&mut Context::from_waker(&waker))
        };
        assert!(poll(1).is_pending());
        let sender = thread::spawn(move || tx.send(value()).unwrap());
        let polled = catch_unwind(AssertUnwindSafe(|| poll(2)));
        sender.join().unwrap();
        if let Err(_) | Ok(Poll::Pending) = polled {
            assert_eq!(*block_on(rx).unwrap(), 7);
        }
    });
}

#[test]
fn the_waker_changes_while_the_receiver_closes_and_the_drops_of_both_panic() {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    ::loom::model(|| {
        let (mut tx, rx) = channel::<Arc<u32>>();
        let mut poll = |number| tx.poll_closed(&mut Context::from_waker(&clones_panic(number)));
        assert!(poll(1).is_pending());
        let receiver = thread::spawn(move || drop(rx));
        let _ = catch_unwind(AssertUnwindSafe(|| poll(2)));
        receiver.join().unwrap();
        assert!(tx.send(value()).is_err());
    });
}
