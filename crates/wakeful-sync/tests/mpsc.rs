//! `mpsc` channels: order of values, room, permits, and all the ways of closing.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};

use support::{Alive, PanicsWhenDropped, manual, panicking_waker, release_many_that_panic};
use wakeful_base::enter::{Entered, set_entered};
use wakeful_sync::Semaphore;
use wakeful_sync::mpsc::error::{SendError, TryRecvError, TrySendError};
use wakeful_sync::mpsc::{self, Receiver, Sender, UnboundedReceiver, UnboundedSender};

#[test]
fn values_come_in_the_order_they_were_sent() {
    let (tx, mut rx) = mpsc::channel(100);
    let (utx, mut urx) = mpsc::unbounded_channel();
    for round in 0..10 {
        for i in 0..100 {
            manual(tx.send(round * 100 + i)).ready().unwrap();
            utx.send(round * 100 + i).unwrap();
        }
        assert_eq!((rx.len(), urx.len(), rx.capacity()), (100, 100, 0));
        for i in 0..100 {
            assert_eq!(manual(rx.recv()).ready(), Some(round * 100 + i));
            assert_eq!(urx.try_recv(), Ok(round * 100 + i));
        }
        assert!(rx.is_empty() && urx.is_empty());
    }
}

#[test]
fn senders_into_a_full_channel_are_queued() {
    let (tx, mut rx) = mpsc::channel(1);
    tx.try_send(0).unwrap();
    assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
    let mut first = manual(tx.send(1));
    let mut second = manual(tx.send(2));
    first.pending();
    second.pending();
    assert_eq!(rx.try_recv(), Ok(0));
    assert!(first.is_woken() && !second.is_woken());
    assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)), "the room belongs to the first waiter");
    assert_eq!((tx.capacity(), rx.len()), (0, 0));
    first.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(1));
    second.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(2));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(tx.capacity(), 1);
}

#[test]
fn room_of_a_cancelled_sender_goes_to_the_next() {
    let (tx, mut rx) = mpsc::channel(2);
    let one = tx.try_reserve().unwrap();
    let mut many = manual(tx.reserve_many(2));
    many.pending();
    assert_eq!(tx.capacity(), 0, "the free room is assigned to the first waiter");
    let mut single = manual(tx.send(1));
    single.pending();
    drop(many);
    assert!(single.is_woken());
    single.ready().unwrap();
    drop(one);
    assert_eq!(tx.capacity(), 1);

    tx.try_send(2).unwrap();
    let mut granted = manual(tx.reserve());
    granted.pending();
    assert_eq!(rx.try_recv(), Ok(1));
    let mut next = manual(tx.reserve());
    next.pending();
    assert!(granted.is_woken());
    drop(granted);
    assert!(next.is_woken());
    drop(next.ready().unwrap());
    assert_eq!(tx.capacity(), 1);
}

#[test]
fn a_receiver_is_woken_by_the_value_it_waits_for() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    let mut recv = manual(rx.recv());
    recv.pending();
    recv.pending();
    assert!(!recv.is_woken());
    tx.send(1).unwrap();
    tx.send(2).unwrap();
    assert_eq!(recv.wakes(), 1);
    assert_eq!(recv.ready(), Some(1));
    drop(recv);
    assert_eq!(manual(rx.recv()).ready(), Some(2));
}

#[test]
fn the_waker_of_the_last_poll_is_called_even_after_a_drop() {
    let (tx, mut rx) = mpsc::channel(1);
    let mut given_up = manual(rx.recv());
    given_up.pending();
    drop(given_up);
    let mut recv = manual(rx.recv());
    assert!(recv.poll_with(Waker::noop()).is_pending());
    recv.pending();
    tx.try_send(1).unwrap();
    assert!(recv.is_woken());
    assert_eq!(recv.ready(), Some(1));
}

#[test]
fn after_the_last_sender_remaining_values_are_received_then_none() {
    let (tx, mut rx) = mpsc::channel(2);
    let other = tx.clone();
    tx.try_send(1).unwrap();
    drop(tx);
    assert!(!rx.is_closed());
    drop(other);
    assert!(rx.is_closed());
    assert_eq!(manual(rx.recv()).ready(), Some(1));
    assert_eq!(manual(rx.recv()).ready(), None);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));

    let (tx, mut rx) = mpsc::unbounded_channel::<u8>();
    let mut recv = manual(rx.recv());
    recv.pending();
    drop(tx);
    assert!(recv.is_woken());
    assert_eq!(recv.ready(), None);
}

#[test]
fn sends_fail_after_the_receiver_is_dropped() {
    let (tx, rx) = mpsc::channel(1);
    tx.try_send(1).unwrap();
    let mut waiting = manual(tx.send(2));
    let mut closed = manual(tx.closed());
    waiting.pending();
    closed.pending();
    drop(rx);
    assert!(waiting.is_woken() && closed.is_woken());
    closed.ready();
    assert_eq!(waiting.ready(), Err(SendError(2)));
    assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    assert!(tx.is_closed() && tx.try_reserve().is_err());
    manual(tx.closed()).ready();

    let (tx, rx) = mpsc::unbounded_channel();
    drop(rx);
    assert_eq!(tx.send(1), Err(SendError(1)));
    manual(tx.closed()).ready();
}

#[test]
fn a_closed_receiver_gets_sent_values_and_those_of_permits() {
    let (tx, mut rx) = mpsc::channel(3);
    tx.try_send(1).unwrap();
    let used = tx.try_reserve().unwrap();
    let dropped = tx.clone().try_reserve_owned().unwrap();
    let mut waiting = manual(tx.reserve());
    waiting.pending();
    rx.close();
    assert!(waiting.ready().is_err());
    assert_eq!(tx.try_send(9), Err(TrySendError::Closed(9)));
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "two permits are still held");
    {
        let mut recv = manual(rx.recv());
        recv.pending();
        used.send(2);
        assert_eq!(recv.ready(), Some(2));
    }
    let mut recv = manual(rx.recv());
    recv.pending();
    drop(dropped);
    assert!(recv.is_woken());
    assert_eq!(recv.ready(), None);
}

#[test]
fn a_closed_receiver_waits_for_permits_assigned_to_a_waiter() {
    let (tx, mut rx) = mpsc::channel::<u8>(2);
    let permit = tx.try_reserve().unwrap();
    let mut both = manual(tx.reserve_many(2));
    both.pending();
    rx.close();
    drop(permit);
    let mut recv = manual(rx.recv());
    recv.pending();
    drop(both);
    assert!(recv.is_woken());
    assert_eq!(recv.ready(), None);
}

#[test]
fn a_closed_unbounded_receiver_gets_what_was_sent() {
    let (tx, mut rx) = mpsc::unbounded_channel();
    tx.send(1).unwrap();
    rx.close();
    rx.close();
    assert_eq!(tx.send(2), Err(SendError(2)));
    assert_eq!(manual(rx.recv()).ready(), Some(1));
    assert_eq!(manual(rx.recv()).ready(), None);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn many_values_at_once() {
    let (tx, mut rx) = mpsc::channel(80);
    let mut buffer = vec![0];
    assert_eq!(manual(rx.recv_many(&mut buffer, 0)).ready(), 0);
    {
        let mut recv = manual(rx.recv_many(&mut buffer, 10));
        recv.pending();
        (1..=70).for_each(|i| tx.try_send(i).unwrap());
        assert_eq!((recv.wakes(), recv.ready()), (1, 10));
    }
    assert_eq!(rx.capacity(), 20);
    assert_eq!(manual(rx.recv_many(&mut buffer, 100)).ready(), 60);
    assert_eq!(buffer, (0..=70).collect::<Vec<_>>());
    drop(tx);
    assert_eq!(manual(rx.recv_many(&mut buffer, 5)).ready(), 0);
    let mut cx = Context::from_waker(Waker::noop());
    assert_eq!(rx.poll_recv_many(&mut cx, &mut buffer, 5), Poll::Ready(0));
    assert_eq!(rx.poll_recv(&mut cx), Poll::Ready(None));
}

#[test]
fn receiving_many_makes_room_for_all_waiters() {
    let (tx, mut rx) = mpsc::channel(50);
    (0..50).for_each(|i| tx.try_send(i).unwrap());
    let mut waiting: Vec<_> = (50..100).map(|i| manual(tx.send(i))).collect();
    waiting.iter_mut().for_each(|w| w.pending());
    let mut buffer = Vec::new();
    assert_eq!(manual(rx.recv_many(&mut buffer, 50)).ready(), 50);
    waiting.iter_mut().for_each(|w| {
        assert_eq!(w.wakes(), 1);
        w.ready().unwrap();
    });
    assert_eq!(manual(rx.recv_many(&mut buffer, 50)).ready(), 50);
    assert_eq!(buffer, (0..100).collect::<Vec<_>>());
}

#[test]
fn permits_for_many() {
    let (tx, mut rx) = mpsc::channel(4);
    assert!(
        manual(tx.reserve_many(5)).ready().is_err(),
        "more than the bound can never be reserved"
    );
    assert_eq!(tx.try_reserve_many(5).unwrap_err(), TrySendError::Full(()));
    assert_eq!(tx.try_reserve_many(usize::MAX).unwrap_err(), TrySendError::Full(()));
    assert_eq!(tx.try_reserve_many(0).unwrap().count(), 0);
    let mut permits = manual(tx.reserve_many(3)).ready().unwrap();
    assert_eq!(permits.len(), 3);
    permits.next().unwrap().send(1);
    permits.next().unwrap().send(2);
    drop(permits);
    assert_eq!(tx.capacity(), 2);
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2)));
    assert_eq!((tx.capacity(), tx.max_capacity(), rx.max_capacity()), (4, 4, 4));
}

#[test]
fn owned_permits_carry_the_sender() {
    let (tx, mut rx) = mpsc::channel(1);
    let (foreign, _keep) = mpsc::channel(1);
    let permit = manual(tx.clone().reserve_owned()).ready().unwrap();
    assert!(permit.same_channel_as_sender(&tx) && !permit.same_channel_as_sender(&foreign));
    assert!(!permit.same_channel(&foreign.try_reserve_owned().unwrap()));
    let Err(TrySendError::Full(tx)) = tx.try_reserve_owned() else { panic!("must be full") };
    drop(tx);
    let tx = permit.send(1);
    assert_eq!(rx.try_recv(), Ok(1));
    let tx = manual(tx.reserve_owned()).ready().unwrap().release();
    assert_eq!(tx.capacity(), 1);
    let permit = tx.try_reserve_owned().unwrap();
    drop(permit);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Disconnected));
}

#[test]
fn very_large_bounds_count_exactly() {
    let bound = Semaphore::MAX_PERMITS;
    let (tx, mut rx) = mpsc::channel(bound);
    assert_eq!((tx.capacity(), tx.max_capacity()), (bound, bound));
    let most = tx.try_reserve_many(bound - 2).unwrap();
    assert_eq!(tx.capacity(), 2);
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
    let mut waiting = manual(tx.send(3));
    waiting.pending();
    drop(most);
    waiting.ready().unwrap();
    assert_eq!(tx.capacity(), bound - 3);
    assert_eq!((rx.try_recv(), rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2), Ok(3)));
    assert_eq!(tx.capacity(), bound);
    rx.close();
    assert_eq!(manual(rx.recv()).ready(), None);
}

#[test]
#[should_panic(expected = "mpsc bounded channel requires buffer > 0")]
fn a_bound_of_zero_panics() {
    let _ = mpsc::channel::<u8>(0);
}

#[test]
fn weak_senders_keep_nothing_open() {
    let (tx, mut rx) = mpsc::channel(1);
    let weak = tx.downgrade();
    let second = weak.clone();
    assert_eq!((tx.strong_count(), tx.weak_count(), rx.sender_weak_count()), (1, 2, 2));
    let again = weak.upgrade().unwrap();
    assert!(again.same_channel(&tx));
    assert_eq!((weak.strong_count(), rx.sender_strong_count()), (2, 2));
    drop((tx, second));
    again.try_send(1).unwrap();
    drop(again);
    assert_eq!((weak.strong_count(), weak.weak_count()), (0, 1));
    assert!(weak.upgrade().is_none());
    assert_eq!(manual(rx.recv()).ready(), Some(1));
    assert_eq!(manual(rx.recv()).ready(), None);

    let (tx, mut rx) = mpsc::unbounded_channel::<u8>();
    let weak = tx.downgrade();
    weak.upgrade().unwrap().send(1).unwrap();
    drop(tx);
    assert!(weak.upgrade().is_none());
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn no_value_is_leaked_or_dropped_twice() {
    let alive = Alive::default();
    for count in [0, 1, 31, 32, 33, 100] {
        let (tx, mut rx) = mpsc::channel(100);
        let (utx, urx) = mpsc::unbounded_channel();
        for i in 0..count {
            assert!(tx.try_send(alive.value(i)).is_ok());
            assert!(utx.send(alive.value(i)).is_ok());
        }
        for i in 0..count / 2 {
            assert_eq!(rx.try_recv().ok().unwrap().number, i);
        }
        // Sent after the receiver is dropped.
        let late = tx.clone().try_reserve_owned().ok();
        drop(rx);
        assert!(tx.try_send(alive.value(0)).is_err());
        if let Some(late) = late {
            drop(late.send(alive.value(1)));
            assert_eq!(alive.count(), count + 1);
        }
        // A waiting `send` future owns its value.
        let (ftx, frx) = mpsc::channel(1);
        assert!(ftx.try_send(alive.value(0)).is_ok());
        let mut waiting = manual(ftx.send(alive.value(1)));
        waiting.pending();
        drop(waiting);
        drop((tx, utx, urx, ftx, frx));
        assert_eq!(alive.count(), 0);
    }
}

#[test]
fn a_panic_in_a_values_drop_leaks_no_other() {
    let alive = Alive::default();
    let (tx, rx) = mpsc::unbounded_channel();
    let value = |i| PanicsWhenDropped(alive.value(i), i == 3);
    (0..100).for_each(|i| assert!(tx.send(value(i)).is_ok()));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    drop(tx);
    alive.assert_none();

    // Values sent after the receiver is dropped are dropped with the channel.
    let (tx, rx) = mpsc::channel(100);
    let permits = tx.try_reserve_many(100).unwrap();
    drop(rx);
    for (i, permit) in permits.enumerate() {
        permit.send(value(i));
    }
    assert_eq!(alive.count(), 100);
    assert!(catch_unwind(AssertUnwindSafe(|| drop(tx))).is_err());
    alive.assert_none();
}

#[test]
fn panics_of_several_values_do_not_abort() {
    let alive = Alive::default();
    let (tx, rx) = mpsc::unbounded_channel();
    (0..100).for_each(|i| assert!(tx.send(PanicsWhenDropped(alive.value(i), i % 2 == 0)).is_ok()));
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    alive.assert_none();
}

#[test]
fn a_panic_in_a_waker_loses_no_value_and_no_room() {
    let (tx, mut rx) = mpsc::channel(1);
    assert!(manual(rx.recv()).poll_with(&panicking_waker()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| tx.try_send(1))).is_err());
    assert_eq!(rx.try_recv(), Ok(1));

    tx.try_send(2).unwrap();
    let mut first = manual(tx.send(3));
    assert!(first.poll_with(&panicking_waker()).is_pending());
    assert_eq!(rx.try_recv(), Ok(2));
    first.ready().unwrap();
    let mut second = manual(tx.send(4));
    assert!(second.poll_with(&panicking_waker()).is_pending());
    assert_eq!(manual(rx.recv()).ready(), Some(3));
    second.ready().unwrap();
    assert_eq!(rx.try_recv(), Ok(4));
    assert_eq!(tx.capacity(), 1);
}

#[test]
fn a_panic_in_a_waker_does_not_lose_the_sender_of_a_permit() {
    let (tx, mut rx) = mpsc::channel::<u8>(1);
    let other = tx.clone();
    let permit = tx.try_reserve_owned().unwrap();
    let mut waiting = manual(other.reserve());
    assert!(waiting.poll_with(&panicking_waker()).is_pending());
    let tx = permit.release();
    let permit = waiting.ready().unwrap();
    rx.close();
    assert!(manual(rx.recv()).poll_with(&panicking_waker()).is_pending());
    // This is the last permit of a closed channel, so dropping it wakes the receiver.
    drop(permit);
    assert_eq!(manual(rx.recv()).ready(), None);
    drop(tx);
}

#[test]
fn dropping_the_receiver_completes_though_wakers_of_senders_panic() {
    let alive = Alive::default();
    let (tx, rx) = mpsc::channel(2);
    (0..2).for_each(|i| assert!(tx.try_send(alive.value(i)).is_ok()));
    let mut until_closed = manual(tx.closed());
    until_closed.pending();
    let mut waiting: Vec<_> = (0..100).map(|_| manual(tx.reserve())).collect();
    for (i, waiter) in waiting.iter_mut().enumerate() {
        if i % 50 == 0 {
            assert!(waiter.poll_with(&panicking_waker()).is_pending());
        } else {
            assert!(waiter.poll().is_pending());
        }
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert!(until_closed.is_woken());
    until_closed.ready();
    assert_eq!(waiting.iter().filter(|w| w.is_woken()).count(), 98);
    assert!(waiting.iter_mut().all(|w| w.ready().is_err()));
    alive.assert_none();
}

#[test]
fn a_closed_channel_ends_though_the_receivers_waker_panics() {
    let (tx, mut rx) = mpsc::channel::<u8>(2);
    let permit = tx.try_reserve().unwrap();
    let mut waiting = manual(tx.reserve_many(2));
    waiting.pending();
    rx.close();
    assert!(rx.poll_recv(&mut Context::from_waker(&panicking_waker())).is_pending());
    drop(permit);
    // The dropped waiter releases the permit that was assigned to it. No permit is left then.
    assert!(waiting.ready().is_err());
    drop(waiting);
    assert_eq!(manual(rx.recv()).ready(), None);
}

#[test]
fn any_number_of_wakers_of_senders_may_panic() {
    let (tx, mut rx) = mpsc::channel::<u8>(10_000);
    let all = tx.try_reserve_many(10_000).unwrap();
    let waiters = || (0..10_000).map(|_| tx.reserve());
    let mut waiting = release_many_that_panic(waiters(), || drop(all));
    let permits: Vec<_> = waiting.iter_mut().map(|waiter| waiter.ready().unwrap()).collect();
    let mut waiting = release_many_that_panic(waiters(), || rx.close());
    waiting.iter_mut().for_each(|waiter| assert!(waiter.ready().is_err()));
    drop(permits);
}

#[test]
fn values_of_any_size() {
    let (tx, mut rx) = mpsc::channel(40);
    (0..40).for_each(|_| tx.try_send(()).unwrap());
    (0..40).for_each(|_| assert_eq!(rx.try_recv(), Ok(())));
    // A block of these values is larger than the stack of a test.
    let (tx, mut rx) = mpsc::unbounded_channel::<[u8; 70_000]>();
    tx.send([7; 70_000]).unwrap();
    assert_eq!(rx.try_recv().unwrap()[69_999], 7);
}

#[test]
fn blocking_methods_work_and_refuse_runtime_threads() {
    let (tx, mut rx) = mpsc::channel(1);
    let sender = std::thread::spawn(move || {
        for i in 0..100 {
            tx.blocking_send(i).unwrap();
        }
    });
    let mut buffer = Vec::new();
    assert_eq!(rx.blocking_recv(), Some(0));
    while rx.blocking_recv_many(&mut buffer, 7) > 0 {}
    assert_eq!(buffer, (1..100).collect::<Vec<_>>());
    sender.join().unwrap();

    let _inside = set_entered(Entered::Bound);
    let refused = catch_unwind(AssertUnwindSafe(|| rx.blocking_recv()));
    let text = *refused.unwrap_err().downcast::<String>().unwrap();
    assert!(text.contains("blocking_recv") && text.contains("recv().await"), "{text}");
}

#[test]
fn the_budget_ends_an_endless_stream() {
    use wakeful_base::budget;
    let (tx, mut rx) = mpsc::channel(1000);
    let sent = budget::with_initial(|| {
        (0..1000).take_while(|i| manual(tx.send(*i)).poll().is_ready()).count()
    });
    assert_eq!(sent, 128);
    let got = budget::with_initial(|| {
        (0..1000).take_while(|_| manual(rx.recv()).poll().is_ready()).count()
    });
    assert_eq!(got, 128);
}

#[test]
fn error_messages() {
    assert_eq!(SendError(1).to_string(), "channel closed");
    assert_eq!(format!("{:?}", SendError(1)), "SendError { .. }");
    assert_eq!(format!("{:?}", TrySendError::Full(1)), "\"Full(..)\"");
    assert_eq!(TrySendError::Full(1).to_string(), "no available capacity");
    assert_eq!(TrySendError::Closed(1).to_string(), "channel closed");
    assert_eq!(TrySendError::from(SendError(4)).into_inner(), 4);
    assert_eq!(TryRecvError::Empty.to_string(), "receiving on an empty channel");
    assert_eq!(TryRecvError::Disconnected.to_string(), "receiving on a closed channel");
}

#[test]
fn auto_traits() {
    fn send_sync<T: Send + Sync + Unpin + std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    fn send_value<T: Send>(_: T) {}
    // `Cell` is `Send`, but not `Sync`.
    type Value = std::cell::Cell<u8>;
    send_sync::<Sender<Value>>();
    send_sync::<Receiver<Value>>();
    send_sync::<UnboundedSender<Value>>();
    send_sync::<UnboundedReceiver<Value>>();
    send_sync::<mpsc::WeakSender<Value>>();
    send_sync::<mpsc::Permit<'_, Value>>();
    send_sync::<mpsc::OwnedPermit<Value>>();
    let (tx, mut rx) = mpsc::channel(1);
    send_value(tx.send(Value::new(1)));
    send_value(rx.recv());
    send_value(tx.reserve());
}
