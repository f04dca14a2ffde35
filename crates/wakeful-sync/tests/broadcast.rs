//! `broadcast`: delivery to all receivers, lag, closing, and random runs checked against a model.

mod support;

use std::collections::VecDeque;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;
use std::thread;
use std::time::Instant;

use support::*;
use wakeful_base::block_on;
use wakeful_base::enter::{Entered, set_entered};
use wakeful_sync::broadcast;
use wakeful_sync::broadcast::error::{RecvError, TryRecvError};

#[test]
fn every_receiver_gets_every_value_sent_after_it_was_made() {
    let (tx, mut first) = broadcast::channel(16);
    assert_eq!(tx.send("one").unwrap(), 1);
    let mut second = tx.subscribe();
    assert_eq!(tx.send("two").unwrap(), 2);
    let mut third = first.resubscribe();
    assert_eq!(first.try_recv(), Ok("one"));
    assert_eq!(first.try_recv(), Ok("two"));
    assert_eq!(first.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(second.try_recv(), Ok("two"));
    assert_eq!(third.try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn a_send_wakes_all_waiting_receivers() {
    let (tx, rx) = broadcast::channel(16);
    // More receivers than are woken in one batch under the lock.
    let mut receivers: Vec<_> = (0..100).map(|_| rx.resubscribe()).collect();
    let mut waits: Vec<_> = receivers.iter_mut().map(|rx| manual(rx.recv())).collect();
    waits.iter_mut().for_each(Manual::pending);
    waits.iter_mut().for_each(Manual::pending);
    assert_eq!(tx.send(7).unwrap(), 101);
    for wait in &mut waits {
        assert_eq!(wait.wakes(), 1);
        assert_eq!(wait.ready(), Ok(7));
    }
}

#[test]
fn a_lagging_receiver_gets_the_missed_count_and_continues() {
    // The capacity is rounded up to 4.
    let (tx, mut rx) = broadcast::channel(3);
    for value in 0..4 {
        tx.send(value).unwrap();
    }
    assert_eq!(rx.len(), 4);
    assert_eq!(rx.try_recv(), Ok(0));
    for value in 4..10 {
        tx.send(value).unwrap();
    }
    assert_eq!(rx.len(), 9);
    let lag = rx.try_recv().unwrap_err();
    assert_eq!((lag.to_string(), lag), ("channel lagged by 5".to_owned(), TryRecvError::Lagged(5)));
    assert_eq!(rx.len(), 4);
    for value in 6..10 {
        assert_eq!(manual(rx.recv()).ready(), Ok(value));
    }
    assert!(rx.is_empty());
}

#[test]
fn a_lagging_receiver_still_gets_closed() {
    let (tx, mut rx) = broadcast::channel(2);
    for value in 0..4 {
        tx.send(value).unwrap();
    }
    drop(tx);
    assert!(rx.is_closed());
    assert_eq!(manual(rx.recv()).ready(), Err(RecvError::Lagged(2)));
    assert_eq!(manual(rx.recv()).ready(), Ok(2));
    assert_eq!(manual(rx.recv()).ready(), Ok(3));
    assert_eq!(manual(rx.recv()).ready(), Err(RecvError::Closed));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

#[test]
fn dropping_the_last_sender_wakes_waiting_receivers() {
    let (tx, mut rx) = broadcast::channel::<i32>(2);
    let (second, weak) = (tx.clone(), tx.downgrade());
    assert_eq!((tx.strong_count(), tx.weak_count()), (2, 1));
    assert_eq!((rx.sender_strong_count(), rx.sender_weak_count()), (2, 1));
    let mut wait = manual(rx.recv());
    wait.pending();
    drop(tx);
    assert!(weak.upgrade().is_some());
    wait.pending();
    drop(second);
    assert!(weak.upgrade().is_none());
    assert_eq!(weak.strong_count(), 0);
    assert_eq!(wait.wakes(), 1);
    assert_eq!(wait.ready(), Err(RecvError::Closed));
}

#[test]
fn a_send_without_receivers_returns_the_value() {
    let tx = broadcast::Sender::new(4);
    let error = tx.send(1).unwrap_err();
    assert_eq!((error.to_string(), error.0), ("channel closed".to_owned(), 1));
    let mut rx = tx.subscribe();
    assert_eq!(tx.send(2).unwrap(), 1);
    assert_eq!(rx.try_recv(), Ok(2));
    drop(rx);
    assert!(tx.send(3).is_err());
    assert_eq!(tx.subscribe().try_recv(), Err(TryRecvError::Empty));
}

#[test]
fn closed_waits_until_there_are_no_receivers() {
    let (tx, rx) = broadcast::channel::<i32>(4);
    let mut closed = manual(tx.closed());
    closed.pending();
    drop(rx);
    assert_eq!(closed.wakes(), 1);
    // There is a receiver again before the waiting sender is polled, so it continues to wait.
    let rx = tx.subscribe();
    closed.pending();
    drop(rx);
    closed.ready();
    manual(broadcast::Sender::<i32>::new(1).closed()).ready();
}

#[test]
fn sender_len_counts_values_not_yet_taken() {
    let (tx, mut first) = broadcast::channel(4);
    let mut second = tx.subscribe();
    assert!(tx.is_empty());
    for value in 1..=6 {
        tx.send(value).unwrap();
        assert_eq!(tx.len(), value.min(4));
    }
    assert!(first.try_recv().is_err() && second.try_recv().is_err());
    for left in (0..4).rev() {
        first.try_recv().unwrap();
        assert_eq!(tx.len(), left + 1);
        second.try_recv().unwrap();
        assert_eq!((tx.len(), tx.is_empty()), (left, left == 0));
    }
}

#[test]
fn a_value_is_dropped_by_the_last_receiver_to_take_it() {
    let alive = Alive::default();
    let (tx, mut first) = broadcast::channel(4);
    let second = tx.subscribe();
    for id in 0..3 {
        tx.send(alive.value(id)).unwrap();
    }
    assert_eq!(first.try_recv().unwrap().number, 0);
    assert_eq!(alive.count(), 3);
    drop(second);
    assert_eq!(alive.count(), 2, "the value that both have taken is dropped");
    drop(first);
    alive.assert_none();
    assert_eq!(tx.send(alive.value(3)).unwrap_err().0.number, 3);
    alive.assert_none();
}

#[test]
fn overwritten_and_unread_values_are_dropped() {
    let alive = Alive::default();
    let (tx, rx) = broadcast::channel(2);
    for id in 0..9 {
        tx.send(alive.value(id)).unwrap();
    }
    assert_eq!(alive.count(), 2);
    drop(tx);
    drop(rx);
    alive.assert_none();
}

#[test]
fn a_cancelled_recv_takes_nothing() {
    let (tx, mut rx) = broadcast::channel(2);
    manual(rx.recv()).pending();
    let mut wait = manual(rx.recv());
    wait.pending();
    tx.send(1).unwrap();
    drop(wait);
    assert_eq!(rx.try_recv(), Ok(1));
}

#[test]
fn panicking_clones_and_wakers_do_not_affect_other_receivers() {
    #[derive(Debug)]
    struct Fragile(bool);
    impl Clone for Fragile {
        fn clone(&self) -> Self {
            assert!(!self.0, "this clone panics");
            Fragile(false)
        }
    }
    let (tx, mut rx) = broadcast::channel(2);
    tx.send(Fragile(true)).unwrap();
    tx.send(Fragile(false)).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| rx.try_recv())).is_err());
    assert_eq!(tx.len(), 1);
    rx.try_recv().unwrap();

    let (tx, mut first) = broadcast::channel(2);
    let mut second = tx.subscribe();
    let mut bad = manual(first.recv());
    assert!(bad.poll_with(&panicking_waker()).is_pending());
    let mut good = manual(second.recv());
    good.pending();
    assert!(catch_unwind(AssertUnwindSafe(|| tx.send(1))).is_err());
    assert_eq!(good.wakes(), 1);
    assert_eq!(good.ready(), Ok(1));
    assert_eq!(bad.ready(), Ok(1));
}

#[test]
fn a_dropped_receiver_releases_all_values_though_one_drop_panics() {
    let alive = Alive::default();
    let (tx, rx) = broadcast::channel(4);
    for i in 0..4 {
        assert!(tx.send(PanicsWhenDropped(alive.value(i), i == 1)).is_ok());
    }
    let mut closed = manual(tx.closed());
    closed.pending();
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert_eq!(tx.len(), 0);
    alive.assert_none();
    closed.ready();
}

#[test]
fn panics_of_several_values_and_wakers_do_not_abort() {
    let alive = Alive::default();
    let (tx, rx) = broadcast::channel(4);
    for i in 0..4 {
        assert!(tx.send(PanicsWhenDropped(alive.value(i), i != 1)).is_ok());
    }
    let mut closed = manual(tx.closed());
    assert!(closed.poll_with(&panicking_waker()).is_pending());
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    alive.assert_none();
    closed.ready();

    struct PanicsOnCloneAndDrop;
    impl Clone for PanicsOnCloneAndDrop {
        fn clone(&self) -> Self {
            panic!("the clone of a value panics");
        }
    }
    impl Drop for PanicsOnCloneAndDrop {
        fn drop(&mut self) {
            panic!("the drop of a value panics");
        }
    }
    let (tx, mut rx) = broadcast::channel(1);
    assert!(tx.send(PanicsOnCloneAndDrop).is_ok());
    assert!(catch_unwind(AssertUnwindSafe(|| rx.try_recv().map(drop))).is_err());
    assert!(tx.is_empty());
}

#[test]
fn a_clone_is_received_though_the_drop_of_the_value_panics() {
    struct Original(bool);
    impl Clone for Original {
        fn clone(&self) -> Self {
            Original(false)
        }
    }
    impl Drop for Original {
        fn drop(&mut self) {
            assert!(!self.0, "the drop of the original panics");
        }
    }
    let (tx, mut rx) = broadcast::channel(1);
    assert!(tx.send(Original(true)).is_ok());
    assert!(rx.try_recv().is_ok());
}

#[test]
fn a_value_whose_drop_uses_the_channel_is_dropped_without_locks() {
    #[derive(Clone)]
    struct UsesChannelOnDrop(broadcast::WeakSender<UsesChannelOnDrop>);
    impl Drop for UsesChannelOnDrop {
        fn drop(&mut self) {
            if let Some(tx) = self.0.upgrade() {
                tx.len();
                drop(tx.subscribe());
            }
        }
    }
    let (tx, mut rx) = broadcast::channel(1);
    for _ in 0..3 {
        assert!(tx.send(UsesChannelOnDrop(tx.downgrade())).is_ok());
    }
    assert!(rx.try_recv().is_err());
    assert!(rx.try_recv().is_ok());
}

#[test]
fn capacities_out_of_range_panic_with_a_reason() {
    for capacity in [0, usize::MAX] {
        let panic = catch_unwind(|| broadcast::channel::<()>(capacity)).unwrap_err();
        let text = panic.downcast_ref::<&str>().unwrap();
        assert!(text.starts_with("broadcast channel capacity"), "{text}");
    }
}

#[test]
fn same_channel_and_debug() {
    let (tx, rx) = broadcast::channel::<()>(1);
    assert!(tx.same_channel(&tx.clone()) && rx.same_channel(&tx.subscribe()));
    assert!(!tx.same_channel(&broadcast::Sender::new(1)));
    assert_eq!(format!("{tx:?} {rx:?}"), "broadcast::Sender broadcast::Receiver");
    assert_eq!(format!("{:?}", tx.downgrade()), "broadcast::WeakSender");
}

#[test]
fn blocking_recv_refuses_a_thread_that_drives_a_runtime() {
    let (_tx, mut rx) = broadcast::channel::<i32>(1);
    let _driving = set_entered(Entered::Bound);
    let panic = catch_unwind(AssertUnwindSafe(|| rx.blocking_recv())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("broadcast::Receiver::blocking_recv"), "{text}");
}

#[test]
fn recv_uses_the_budget() {
    wakeful_base::budget::with_initial(|| {
        let (tx, mut rx) = broadcast::channel(256);
        (0..200).for_each(|value| drop(tx.send(value)));
        let mut spent = 0;
        while manual(rx.recv()).poll().is_ready() {
            spent += 1;
        }
        assert_eq!(spent, 128);
    });
}

const CAPACITY: usize = 4;

type Waiting =
    Pin<Box<dyn Future<Output = (broadcast::Receiver<Counted>, Result<usize, RecvError>)>>>;

enum Listener {
    Idle(broadcast::Receiver<Counted>),
    Waiting(Manual<Waiting>),
}

/// What a receiver should get: the values not yet received, without those overwritten, and the
/// number of overwritten values.
struct Expected {
    queue: VecDeque<usize>,
    missed: u64,
    listener: Listener,
}

impl Expected {
    fn send(&mut self, value: usize) {
        self.queue.push_back(value);
        if self.queue.len() > CAPACITY {
            self.queue.pop_front();
            self.missed += 1;
        }
    }

    fn receive(&mut self, closed: bool) -> Result<usize, TryRecvError> {
        if self.missed > 0 {
            return Err(TryRecvError::Lagged(std::mem::take(&mut self.missed)));
        }
        let end = if closed { TryRecvError::Closed } else { TryRecvError::Empty };
        self.queue.pop_front().ok_or(end)
    }
}

/// One thread does random operations on all handles; one queue per receiver lists the values it
/// must receive.
#[test]
fn random_runs_agree_with_a_model() {
    let alive = Alive::default();
    for seed in 0..300 {
        let mut random = Random::new(seed);
        let tx = broadcast::Sender::new(CAPACITY);
        let mut listeners: Vec<Expected> = Vec::new();
        for value in 0..200 {
            match random.below(6) {
                0 | 1 => {
                    let sent = tx.send(alive.value(value)).ok();
                    let count = Some(listeners.len()).filter(|count| *count > 0);
                    assert_eq!(sent, count, "seed {seed}");
                    listeners.iter_mut().for_each(|expected| expected.send(value));
                }
                2 if listeners.len() < 5 => {
                    let listener = Listener::Idle(tx.subscribe());
                    listeners.push(Expected { queue: VecDeque::new(), missed: 0, listener });
                }
                3 if !listeners.is_empty() && random.below(3) == 0 => {
                    drop(listeners.swap_remove(random.below(listeners.len())));
                }
                _ if listeners.is_empty() => {}
                _ => {
                    let at = random.below(listeners.len());
                    let expected = listeners.swap_remove(at);
                    listeners.push(step(expected, &mut random));
                }
            }
            let left = listeners.iter().map(|expected| expected.queue.len()).max().unwrap_or(0);
            assert_eq!((tx.len(), tx.is_empty()), (left, left == 0), "seed {seed}");
            let in_waits = alive.count();
            assert_eq!(in_waits, left, "seed {seed}: what all have taken is dropped");
        }
        drop(tx);
        listeners.into_iter().for_each(drain);
        alive.assert_none();
    }
}

fn step(mut expected: Expected, random: &mut Random) -> Expected {
    let listener = match expected.listener {
        Listener::Waiting(wait) => poll_wait(wait, &mut expected.queue, &mut expected.missed),
        Listener::Idle(mut rx) if random.below(2) == 0 => {
            let got = rx.try_recv().map(|value| value.number);
            expected.listener = Listener::Idle(rx);
            assert_eq!(got, expected.receive(false));
            return expected;
        }
        Listener::Idle(mut rx) => {
            let wait: Manual<Waiting> = manual(Box::pin(async move {
                let got = rx.recv().await.map(|value| value.number);
                (rx, got)
            }));
            poll_wait(wait, &mut expected.queue, &mut expected.missed)
        }
    };
    Expected { listener, ..expected }
}

fn poll_wait(mut wait: Manual<Waiting>, queue: &mut VecDeque<usize>, missed: &mut u64) -> Listener {
    match wait.poll() {
        Poll::Pending => {
            assert!(queue.is_empty(), "a value ends the wait");
            assert_eq!(wait.wakes(), 0, "spurious wake-up");
            Listener::Waiting(wait)
        }
        Poll::Ready((rx, got)) => {
            let expected = match std::mem::take(missed) {
                0 => Ok(queue.pop_front().expect("only a value ends the wait")),
                missed => Err(RecvError::Lagged(missed)),
            };
            assert_eq!(got, expected);
            Listener::Idle(rx)
        }
    }
}

/// Receives all remaining values, after the senders are dropped.
fn drain(mut expected: Expected) {
    if let Listener::Waiting(mut wait) = expected.listener {
        assert!(wait.wakes() > 0, "a value or the close wakes the receiver");
        let (rx, got) = wait.ready();
        expected.listener = Listener::Idle(rx);
        let got = got.map_err(|error| match error {
            RecvError::Closed => TryRecvError::Closed,
            RecvError::Lagged(missed) => TryRecvError::Lagged(missed),
        });
        assert_eq!(got, expected.receive(true));
    }
    let placeholder = Listener::Idle(broadcast::channel(1).1);
    let Listener::Idle(mut rx) = std::mem::replace(&mut expected.listener, placeholder) else {
        unreachable!("made idle above");
    };
    loop {
        let got = rx.try_recv().map(|value| value.number);
        assert_eq!(got, expected.receive(true));
        if got == Err(TryRecvError::Closed) {
            return;
        }
    }
}

#[test]
fn stress_received_and_missed_values_add_up() {
    let deadline = stress_deadline();
    let alive = Alive::default();
    let (tx, rx) = broadcast::channel::<Counted>(8);
    let receivers: Vec<_> = (0..3)
        .map(|seed| {
            let mut rx = rx.resubscribe();
            thread::spawn(move || {
                let mut random = Random::new(seed);
                let (mut got, mut last) = (0u64, [None; 2]);
                loop {
                    if random.below(4) == 0 {
                        // Polls a `recv` that may be cancelled.
                        match manual(rx.recv()).poll() {
                            Poll::Ready(Ok(_)) => got += 1,
                            Poll::Ready(Err(RecvError::Lagged(missed))) => got += missed,
                            _ => {}
                        }
                    }
                    drop((random.below(50) == 0).then(|| rx.resubscribe()));
                    match block_on(rx.recv()) {
                        Ok(value) => {
                            let sender = value.number % 2;
                            assert!(last[sender] < Some(value.number), "in the order sent");
                            last[sender] = Some(value.number);
                            got += 1;
                        }
                        Err(RecvError::Lagged(missed)) => got += missed,
                        Err(RecvError::Closed) => return got,
                    }
                }
            })
        })
        .collect();
    drop(rx);
    let senders: Vec<_> = (0..2)
        .map(|first_id| {
            let (tx, alive) = (tx.clone(), alive.clone());
            thread::spawn(move || {
                let mut sent = 0;
                while Instant::now() < deadline {
                    tx.send(alive.value(first_id + 2 * sent)).unwrap();
                    sent += 1;
                    if sent % 16 == 0 {
                        thread::yield_now();
                    }
                }
                sent
            })
        })
        .collect();
    drop(tx);
    let sent: usize = senders.into_iter().map(|sender| sender.join().unwrap()).sum();
    for receiver in receivers {
        assert_eq!(receiver.join().unwrap(), sent as u64);
    }
    alive.assert_none();
}
