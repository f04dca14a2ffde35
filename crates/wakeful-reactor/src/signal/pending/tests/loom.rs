//! Signals, deliveries, polls and the end of a listener, in every order.

use super::*;
use ::loom::future::block_on;
use ::loom::sync::Arc;
use ::loom::thread;
use std::future::poll_fn;
use wakeful_base::call_now;

fn model(f: impl Fn(Arc<PendingSignals>) + Send + Sync + 'static) {
    ::loom::model(move || f(Arc::new(PendingSignals::new(2))));
}

async fn recv(listener: &mut Listener<'_>) {
    poll_fn(|cx| listener.poll_delivery(cx.waker())).await;
}

#[test]
fn a_signal_reaches_its_listener() {
    model(|pending| {
        let mut listener = pending.listen(0);
        let driver = pending.clone();
        let driver = thread::spawn(move || {
            driver.set_pending(0);
            driver.distribute(&mut call_now);
        });
        block_on(recv(&mut listener));
        driver.join().unwrap();
    });
}

/// Either driver may take the signal that the other one's handler has set, but both signals arrive.
#[test]
fn two_drivers_that_distribute_at_the_same_time_lose_nothing() {
    model(|pending| {
        let (mut first, mut second) = (pending.listen(0), pending.listen(1));
        let driver = pending.clone();
        let driver = thread::spawn(move || {
            driver.set_pending(0);
            driver.distribute(&mut call_now);
        });
        pending.set_pending(1);
        pending.distribute(&mut call_now);
        block_on(recv(&mut second));
        block_on(recv(&mut first));
        driver.join().unwrap();
    });
}

#[test]
fn a_second_signal_after_the_first_was_received_is_received_too() {
    model(|pending| {
        let mut listener = pending.listen(0);
        let driver = pending.clone();
        pending.set_pending(0);
        let driver = thread::spawn(move || driver.distribute(&mut call_now));
        block_on(recv(&mut listener));
        pending.set_pending(0);
        pending.distribute(&mut call_now);
        block_on(recv(&mut listener));
        driver.join().unwrap();
    });
}

#[test]
fn a_listener_dropped_while_it_is_woken_leaves_nothing() {
    model(|pending| {
        let driver = pending.clone();
        pending.set_pending(0);
        let mut listener = pending.listen(0);
        let driver = thread::spawn(move || driver.distribute(&mut call_now));
        let _either = listener.poll_delivery(Waker::noop());
        drop(listener);
        driver.join().unwrap();
        assert!(pending.channels[0].listeners.lock().wakers.is_empty());
    });
}
