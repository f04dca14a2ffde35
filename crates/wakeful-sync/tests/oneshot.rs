//! `oneshot`: sending, closing, wakers, and that no value is lost or dropped twice.

mod support_b;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::Instant;

use support_b::*;
use wakeful_base::enter::{Entered, set_entered};
use wakeful_sync::oneshot;
use wakeful_sync::oneshot::error::TryRecvError;

#[test]
fn a_value_sent_before_the_wait_is_there_at_once() {
    let (tx, rx) = oneshot::channel();
    assert!(rx.is_empty());
    tx.send(1).unwrap();
    assert!(!rx.is_empty() && !rx.is_terminated());
    assert_eq!(by_hand(rx).assert_ready(), Ok(1));
}

#[test]
fn a_send_wakes_the_waiting_receiver_once() {
    let (tx, rx) = oneshot::channel();
    let mut rx = by_hand(rx);
    rx.assert_pending();
    rx.assert_pending();
    tx.send(1).unwrap();
    assert_eq!(rx.wakes(), 1);
    assert_eq!(rx.assert_ready(), Ok(1));
    assert!(rx.pinned().is_terminated() && rx.pinned().is_empty());
}

#[test]
fn a_dropped_sender_ends_the_wait_with_an_error() {
    let (tx, rx) = oneshot::channel::<i32>();
    let mut rx = by_hand(rx);
    rx.assert_pending();
    drop(tx);
    assert_eq!(rx.wakes(), 1);
    let error = rx.assert_ready().unwrap_err();
    assert_eq!(error.to_string(), "channel closed");
    assert_eq!(format!("{error:?}"), "RecvError(())");
}

#[test]
fn a_send_to_nobody_gives_the_value_back() {
    let alive = alive();
    let (tx, rx) = oneshot::channel();
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!(tx.send(Counted::new(&alive, 4)).unwrap_err().id, 4);
    assert_none_alive(&alive);
}

#[test]
fn closing_keeps_what_was_sent_and_refuses_the_rest() {
    let (tx, mut rx) = oneshot::channel();
    tx.send(1).unwrap();
    rx.close();
    assert_eq!(rx.try_recv(), Ok(1));

    let (tx, mut rx) = oneshot::channel();
    rx.close();
    rx.close();
    assert!(tx.is_closed());
    assert_eq!(tx.send(1), Err(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    rx.close();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn closing_while_waiting_ends_the_wait() {
    let (mut tx, rx) = oneshot::channel::<i32>();
    let mut rx = by_hand(rx);
    rx.assert_pending();
    rx.pinned().close();
    assert!(rx.assert_ready().is_err());
    by_hand(tx.closed()).assert_ready();
}

#[test]
fn try_recv_tells_empty_from_closed() {
    let (tx, mut rx) = oneshot::channel();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(TryRecvError::Empty.to_string(), "channel empty");
    tx.send(1).unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));

    let (tx, mut rx) = oneshot::channel::<i32>();
    drop(tx);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert!(rx.is_terminated());
}

#[test]
#[should_panic(expected = "called after complete")]
fn polling_after_the_result_panics() {
    let (tx, rx) = oneshot::channel();
    tx.send(1).unwrap();
    let mut rx = by_hand(rx);
    let _ = rx.assert_ready();
    let _ = rx.poll();
}

#[test]
fn the_sender_is_woken_when_the_receiver_closes_or_goes() {
    for by_close in [true, false] {
        let (mut tx, mut rx) = oneshot::channel::<i32>();
        let mut closed = by_hand(tx.closed());
        closed.assert_pending();
        closed.assert_pending();
        if by_close {
            rx.close();
        } else {
            drop(rx);
        }
        assert_eq!(closed.wakes(), 1);
        closed.assert_ready();
        drop(closed);
        by_hand(tx.closed()).assert_ready();
    }
}

#[test]
fn both_ends_call_the_waker_of_the_last_poll() {
    let (mut tx, rx) = oneshot::channel();
    let mut rx = by_hand(rx);
    assert!(rx.poll_with(Waker::noop()).is_pending());
    rx.assert_pending();
    assert!(tx.poll_closed(&mut Context::from_waker(Waker::noop())).is_pending());
    tx.send(1).unwrap();
    assert_eq!(rx.wakes(), 1);

    let (mut tx, rx) = oneshot::channel::<i32>();
    assert!(tx.poll_closed(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut closed = by_hand(tx.closed());
    closed.assert_pending();
    drop(rx);
    assert_eq!(closed.wakes(), 1);
}

#[test]
fn no_waker_is_left_behind() {
    let count = Arc::new(PanickingWaker);
    let waker = Waker::from(count.clone());
    let cx = &mut Context::from_waker(&waker);
    // The sender waited, then sent; the receiver is dropped with and without having looked.
    for receive in [true, false] {
        let (mut tx, mut rx) = oneshot::channel();
        assert!(tx.poll_closed(cx).is_pending());
        tx.send(1).unwrap();
        if receive {
            rx.try_recv().unwrap();
        }
    }
    // The receiver waited, then went.
    let (tx, rx) = oneshot::channel();
    let mut rx = by_hand(rx);
    assert!(rx.poll_with(&waker).is_pending());
    drop(rx);
    assert_eq!(tx.send(1), Err(1));
    assert_eq!(Arc::strong_count(&count), 2);
}

#[test]
fn a_value_nobody_took_is_dropped_once() {
    let alive = alive();
    let (tx, rx) = oneshot::channel();
    tx.send(Counted::new(&alive, 0)).unwrap();
    drop(rx);
    assert_none_alive(&alive);

    let (tx, mut rx) = oneshot::channel();
    tx.send(Counted::new(&alive, 0)).unwrap();
    rx.close();
    drop(rx);
    assert_none_alive(&alive);
}

#[test]
fn a_panicking_waker_or_drop_leaves_the_channel_whole() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("this value panics when dropped");
        }
    }
    let (tx, rx) = oneshot::channel();
    assert!(tx.send(PanicsOnDrop).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());

    let panicking = Waker::from(Arc::new(PanickingWaker));
    let (tx, rx) = oneshot::channel();
    let mut rx = by_hand(rx);
    assert!(rx.poll_with(&panicking).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(1))).is_err());
    assert_eq!(rx.assert_ready(), Ok(1));

    let (mut tx, rx) = oneshot::channel::<i32>();
    assert!(tx.poll_closed(&mut Context::from_waker(&panicking)).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert!(tx.is_closed());
}

#[test]
fn blocking_recv_refuses_a_thread_that_drives_a_runtime() {
    let (_tx, rx) = oneshot::channel::<i32>();
    let _driving = set_entered(Entered::MayBlockInPlace);
    let panic = catch_unwind(AssertUnwindSafe(|| rx.blocking_recv())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("oneshot::Receiver::blocking_recv"), "{text}");
    assert!(text.contains("spawn_blocking"), "{text}");
}

#[test]
fn values_without_size_or_with_much_of_it_get_through() {
    let (tx, mut rx) = oneshot::channel();
    tx.send(()).unwrap();
    assert_eq!(rx.try_recv(), Ok(()));
    let (tx, mut rx) = oneshot::channel();
    tx.send([7u8; 10_000]).unwrap();
    assert_eq!(rx.try_recv(), Ok([7; 10_000]));
}

#[test]
fn it_takes_part_in_the_budget() {
    wakeful_base::budget::with_initial(|| {
        let mut spent = 0;
        loop {
            let (tx, rx) = oneshot::channel();
            tx.send(()).unwrap();
            if by_hand(rx).poll().is_pending() {
                break;
            }
            spent += 1;
        }
        assert_eq!(spent, 128);
    });
}

/// Both ends do at random what they can, at once.
#[test]
fn stress_every_value_is_received_or_given_back() {
    let deadline = stress_deadline();
    let alive = alive();
    let (to_sender, senders) = std::sync::mpsc::channel::<(oneshot::Sender<Counted>, usize)>();
    let (report, sent) = std::sync::mpsc::channel();
    let value_count = alive.clone();
    let sending = thread::spawn(move || {
        let mut random = Random::new(1);
        for (mut tx, id) in senders {
            if random.below(4) == 0 {
                let _ = tx.poll_closed(&mut Context::from_waker(Waker::noop()));
            }
            let value = Counted::new(&value_count, id);
            report.send((random.below(4) != 0).then(|| tx.send(value).is_ok())).unwrap();
        }
    });
    let mut random = Random::new(2);
    let mut id = 0;
    while Instant::now() < deadline {
        id += 1;
        let (tx, mut rx) = oneshot::channel();
        to_sender.send((tx, id)).unwrap();
        for _ in 0..random.below(200) {
            std::hint::spin_loop();
        }
        let received = match random.below(4) {
            0 => {
                drop(rx);
                sent.recv().unwrap();
                continue;
            }
            1 => {
                rx.close();
                rx.try_recv().ok()
            }
            2 => {
                let mut rx = by_hand(rx);
                match rx.poll() {
                    std::task::Poll::Ready(result) => result.ok(),
                    std::task::Poll::Pending => block_on(rx.into_inner()).ok(),
                }
            }
            _ => block_on(rx).ok(),
        };
        let was_sent = sent.recv().unwrap().unwrap_or(false);
        assert_eq!(received.map(|value| value.id), was_sent.then_some(id));
    }
    drop(to_sender);
    sending.join().unwrap();
    assert_none_alive(&alive);
}
