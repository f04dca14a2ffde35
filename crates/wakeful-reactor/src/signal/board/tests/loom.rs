//! Signals, deliveries, polls and the end of a listener, in every order.

use super::*;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::future::poll_fn;
use wakeful_base::call_now;

fn model(f: impl Fn(Arc<Board>) + Send + Sync + 'static) {
    ::loom::model(move || f(Arc::new(Board::new(2))));
}

async fn recv(listener: &mut Listener<'_>) {
    poll_fn(|cx| listener.poll_delivery(cx.waker())).await;
}

#[test]
fn a_signal_reaches_who_listens() {
    model(|board| {
        let mut listener = board.listen(0);
        let driver = board.clone();
        let driver = thread::spawn(move || {
            driver.note(0);
            driver.distribute(&mut call_now);
        });
        block_on(recv(&mut listener));
        driver.join().unwrap();
    });
}

/// Either may take away what the other's handler noted; both signals arrive all the same.
#[test]
fn two_drivers_that_distribute_at_once_lose_nothing() {
    model(|board| {
        let (mut first, mut second) = (board.listen(0), board.listen(1));
        let driver = board.clone();
        let driver = thread::spawn(move || {
            driver.note(0);
            driver.distribute(&mut call_now);
        });
        board.note(1);
        board.distribute(&mut call_now);
        block_on(recv(&mut second));
        block_on(recv(&mut first));
        driver.join().unwrap();
    });
}

#[test]
fn a_second_signal_after_the_first_was_received_is_received_too() {
    model(|board| {
        let mut listener = board.listen(0);
        let driver = board.clone();
        board.note(0);
        let driver = thread::spawn(move || driver.distribute(&mut call_now));
        block_on(recv(&mut listener));
        board.note(0);
        board.distribute(&mut call_now);
        block_on(recv(&mut listener));
        driver.join().unwrap();
    });
}

#[test]
fn a_listener_that_goes_while_it_is_called_leaves_nothing() {
    model(|board| {
        let driver = board.clone();
        board.note(0);
        let mut listener = board.listen(0);
        let driver = thread::spawn(move || driver.distribute(&mut call_now));
        let _either = listener.poll_delivery(Waker::noop());
        drop(listener);
        driver.join().unwrap();
        assert!(board.channels[0].listeners.lock().places.is_empty());
    });
}
