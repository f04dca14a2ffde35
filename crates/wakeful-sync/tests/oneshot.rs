//! `oneshot`: sending, closing and wakers; no value may be lost or dropped twice.

mod support;

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Instant;

use support::*;
use wakeful_base::block_on;
use wakeful_base::enter::{Entered, set_entered};
use wakeful_sync::oneshot;
use wakeful_sync::oneshot::error::TryRecvError;

#[test]
fn a_value_sent_before_the_wait_is_ready_immediately() {
    let (tx, rx) = oneshot::channel();
    assert!(rx.is_empty());
    tx.send(1).unwrap();
    assert!(!rx.is_empty() && !rx.is_terminated());
    assert_eq!(manual(rx).ready(), Ok(1));
}

#[test]
fn a_send_wakes_the_waiting_receiver_once() {
    let (tx, rx) = oneshot::channel();
    let mut rx = manual(rx);
    rx.pending();
    rx.pending();
    tx.send(1).unwrap();
    assert_eq!(rx.wakes(), 1);
    assert_eq!(rx.ready(), Ok(1));
    assert!(rx.pinned().is_terminated() && rx.pinned().is_empty());
}

#[test]
fn a_dropped_sender_wakes_the_receiver_with_an_error() {
    let (tx, rx) = oneshot::channel::<i32>();
    let mut rx = manual(rx);
    rx.pending();
    drop(tx);
    assert_eq!(rx.wakes(), 1);
    let error = rx.ready().unwrap_err();
    assert_eq!(error.to_string(), "channel closed");
    assert_eq!(format!("{error:?}"), "RecvError(())");
}

#[test]
fn a_send_without_receivers_returns_the_value() {
    let alive = Alive::default();
    let (tx, rx) = oneshot::channel();
    drop(rx);
    assert!(tx.is_closed());
    assert_eq!(tx.send(alive.value(4)).unwrap_err().number, 4);
    alive.assert_none();
}

#[test]
fn close_keeps_a_sent_value_and_refuses_later_ones() {
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
fn close_during_a_wait_ends_the_wait() {
    let (mut tx, rx) = oneshot::channel::<i32>();
    let mut rx = manual(rx);
    rx.pending();
    rx.pinned().close();
    assert!(rx.ready().is_err());
    manual(tx.closed()).ready();
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
    let mut rx = manual(rx);
    let _ = rx.ready();
    let _ = rx.poll();
}

#[test]
fn the_sender_is_woken_when_the_receiver_is_closed_or_dropped() {
    for by_close in [true, false] {
        let (mut tx, mut rx) = oneshot::channel::<i32>();
        let mut closed = manual(tx.closed());
        closed.pending();
        closed.pending();
        if by_close {
            rx.close();
        } else {
            drop(rx);
        }
        assert_eq!(closed.wakes(), 1);
        closed.ready();
        drop(closed);
        manual(tx.closed()).ready();
    }
}

#[test]
fn both_ends_wake_the_waker_of_the_last_poll() {
    let (mut tx, rx) = oneshot::channel();
    let mut rx = manual(rx);
    assert!(rx.poll_with(Waker::noop()).is_pending());
    rx.pending();
    assert!(tx.poll_closed(&mut Context::from_waker(Waker::noop())).is_pending());
    tx.send(1).unwrap();
    assert_eq!(rx.wakes(), 1);

    let (mut tx, rx) = oneshot::channel::<i32>();
    assert!(tx.poll_closed(&mut Context::from_waker(Waker::noop())).is_pending());
    let mut closed = manual(tx.closed());
    closed.pending();
    drop(rx);
    assert_eq!(closed.wakes(), 1);
}

#[test]
fn no_waker_is_leaked() {
    let count = Arc::new(PanickingWaker);
    let waker = Waker::from(count.clone());
    let cx = &mut Context::from_waker(&waker);
    // The sender waited and then sent. The receiver is dropped with and without having received.
    for receive in [true, false] {
        let (mut tx, mut rx) = oneshot::channel();
        assert!(tx.poll_closed(cx).is_pending());
        tx.send(1).unwrap();
        if receive {
            rx.try_recv().unwrap();
        }
    }
    // The receiver waited and was then dropped.
    let (tx, rx) = oneshot::channel();
    let mut rx = manual(rx);
    assert!(rx.poll_with(&waker).is_pending());
    drop(rx);
    assert_eq!(tx.send(1), Err(1));
    assert_eq!(Arc::strong_count(&count), 2);
}

#[test]
fn a_value_not_received_is_dropped_once() {
    let alive = Alive::default();
    let (tx, rx) = oneshot::channel();
    tx.send(alive.value(0)).unwrap();
    drop(rx);
    alive.assert_none();

    let (tx, mut rx) = oneshot::channel();
    tx.send(alive.value(0)).unwrap();
    rx.close();
    drop(rx);
    alive.assert_none();
}

/// Leaves a waker in the channel whose only reference is in the channel, and whose drop panics.
fn leave_sender_waker<T>(tx: &mut oneshot::Sender<T>) {
    let waker = waker_that_panics_on_drop();
    assert!(tx.poll_closed(&mut Context::from_waker(&waker)).is_pending());
}

/// Checks that `rx` does not reach its freed cell. Both channels use slab memory of the same size,
/// so the second one gets the cell of the first if that was freed.
#[track_caller]
fn assert_forgotten(mut rx: oneshot::Receiver<u64>) {
    let (tx2, mut rx2) = oneshot::channel::<Box<u64>>();
    tx2.send(Box::new(0x4141_4141)).unwrap();
    assert!(rx.is_terminated());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    drop(rx);
    assert_eq!(rx2.try_recv().as_deref(), Ok(&0x4141_4141));
}

#[test]
fn no_value_is_lost_by_a_senders_waker_whose_drop_panics() {
    let (mut tx, mut rx) = oneshot::channel::<u64>();
    leave_sender_waker(&mut tx);
    tx.send(1).unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    assert_forgotten(rx);

    let (mut tx, mut rx) = oneshot::channel::<u64>();
    leave_sender_waker(&mut tx);
    tx.send(1).unwrap();
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(Pin::new(&mut rx).poll(&mut cx), Poll::Ready(Ok(1)));
    assert_forgotten(rx);
}

#[test]
fn the_channel_survives_a_panicking_waker_or_drop() {
    struct PanicsOnDrop;
    impl Drop for PanicsOnDrop {
        fn drop(&mut self) {
            panic!("this value panics when dropped");
        }
    }
    let (tx, rx) = oneshot::channel();
    assert!(tx.send(PanicsOnDrop).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());

    let panicking = panicking_waker();
    let (tx, rx) = oneshot::channel();
    let mut rx = manual(rx);
    assert!(rx.poll_with(&panicking).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(1))).is_err());
    assert_eq!(rx.ready(), Ok(1));

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
fn zero_sized_and_large_values() {
    let (tx, mut rx) = oneshot::channel();
    tx.send(()).unwrap();
    assert_eq!(rx.try_recv(), Ok(()));
    let (tx, mut rx) = oneshot::channel();
    tx.send([7u8; 10_000]).unwrap();
    assert_eq!(rx.try_recv(), Ok([7; 10_000]));
}

#[test]
fn recv_uses_the_budget() {
    wakeful_base::budget::with_initial(|| {
        let mut spent = 0;
        loop {
            let (tx, rx) = oneshot::channel();
            tx.send(()).unwrap();
            if manual(rx).poll().is_pending() {
                break;
            }
            spent += 1;
        }
        assert_eq!(spent, 128);
    });
}

/// Both ends do random operations at the same time.
#[test]
fn stress_every_value_is_received_or_returned() {
    let deadline = stress_deadline();
    let alive = Alive::default();
    let (to_sender, senders) = std::sync::mpsc::channel::<(oneshot::Sender<Counted>, usize)>();
    let (report, sent) = std::sync::mpsc::channel();
    let value_count = alive.clone();
    let sending = thread::spawn(move || {
        let mut random = Random::new(1);
        for (mut tx, id) in senders {
            if random.below(4) == 0 {
                let _ = tx.poll_closed(&mut Context::from_waker(Waker::noop()));
            }
            let value = value_count.value(id);
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
                let mut rx = manual(rx);
                match rx.poll() {
                    std::task::Poll::Ready(result) => result.ok(),
                    std::task::Poll::Pending => block_on(rx.into_inner()).ok(),
                }
            }
            _ => block_on(rx).ok(),
        };
        let was_sent = sent.recv().unwrap().unwrap_or(false);
        assert_eq!(received.map(|value| value.number), was_sent.then_some(id));
    }
    drop(to_sender);
    sending.join().unwrap();
    alive.assert_none();
}

/// The expected state of a channel.
#[derive(Default)]
struct Model {
    sent: Option<usize>,
    is_sender_gone: bool,
    is_closed: bool,
    is_taken: bool,
    /// The number of wake-ups the receiver had when it began to wait; `None` if it does not wait.
    /// Below it, the same for the sender.
    receiver_waits: Option<usize>,
    sender_waits: Option<usize>,
}

impl Model {
    /// Returns what the receiver gets; `None` if it has to wait.
    fn take(&mut self) -> Option<Option<usize>> {
        let is_ready = self.is_taken || self.is_sender_gone || self.is_closed;
        is_ready.then(|| {
            self.is_taken = true;
            self.sent.take()
        })
    }
}

#[test]
fn random_runs_agree_with_a_model() {
    let alive = Alive::default();
    stress(|seed| {
        let mut random = Random::new(seed);
        let (tx_wakes, rx_wakes) = (WakeCount::default(), WakeCount::default());
        let (tx, rx) = oneshot::channel();
        let (mut tx, mut rx, mut model) = (Some(tx), Some(rx), Model::default());
        for number in 0..12 {
            match (random.below(9), &mut tx, &mut rx) {
                (0, Some(_), _) if random.below(2) == 0 => {
                    let sent = tx.take().unwrap().send(alive.value(number));
                    assert_eq!(sent.is_ok(), !model.is_closed, "seed {seed}");
                    model.sent = sent.is_ok().then_some(number);
                    model.is_sender_gone = true;
                }
                (1, Some(_), _) if random.below(3) == 0 => {
                    tx = None;
                    model.is_sender_gone = true;
                }
                (2 | 3, Some(tx), _) => {
                    let closed = tx.poll_closed(&mut Context::from_waker(&tx_wakes.waker()));
                    assert_eq!(closed.is_ready(), model.is_closed, "seed {seed}");
                    model.sender_waits = closed.is_pending().then(|| tx_wakes.count());
                }
                (4, _, Some(_)) if random.below(3) == 0 => {
                    rx = None;
                    (model.is_closed, model.receiver_waits) = (true, None);
                    model.sent = None;
                }
                (5, _, Some(rx)) if random.below(3) == 0 => {
                    rx.close();
                    // A receiver that already has its result closes nothing.
                    model.is_closed |= !model.is_taken;
                    model.receiver_waits = None;
                }
                (6, _, Some(rx)) => {
                    let got = rx.try_recv().map(|value: Counted| value.number);
                    let expected = match model.take() {
                        None => Err(TryRecvError::Empty),
                        Some(value) => value.ok_or(TryRecvError::Closed),
                    };
                    assert_eq!(got, expected, "seed {seed}");
                }
                (7 | 8, _, Some(rx)) if !model.is_taken => {
                    let polled = Pin::new(rx).poll(&mut Context::from_waker(&rx_wakes.waker()));
                    model.receiver_waits = polled.is_pending().then(|| rx_wakes.count());
                    let got = match polled {
                        Poll::Pending => None,
                        Poll::Ready(result) => Some(result.ok().map(|value| value.number)),
                    };
                    assert_eq!(got, model.take(), "seed {seed}");
                }
                _ => {}
            }
            if let Some(rx) = &rx {
                assert_eq!(rx.is_terminated(), model.is_taken, "seed {seed}");
                assert_eq!(rx.is_empty(), model.sent.is_none(), "seed {seed}");
            }
            if let Some(tx) = &tx {
                assert_eq!(tx.is_closed(), model.is_closed, "seed {seed}");
            }
            if let (Some(before), true) = (model.receiver_waits, model.is_sender_gone) {
                assert!(rx_wakes.count() > before, "seed {seed}: the receiver was not woken");
            }
            if let (Some(before), true, true) = (model.sender_waits, model.is_closed, tx.is_some())
            {
                assert!(tx_wakes.count() > before, "seed {seed}: the sender was not woken");
            }
            assert_eq!(alive.count(), model.sent.iter().count(), "seed {seed}");
        }
        drop((tx, rx));
        alive.assert_none();
    });
}
