//! Channels between threads: each value arrives once and in order, however the two ends race.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

use support::{Alive, Random, manual, stress};
use wakeful_base::block_on;
use wakeful_sync::mpsc;

fn spawn_senders(
    count: usize,
    each: usize,
    send: impl Fn(usize, &mut Random) -> bool + Clone + Send + 'static,
    seed: u64,
) -> Vec<std::thread::JoinHandle<usize>> {
    let spawn = |t: usize| {
        let send = send.clone();
        let mut random = Random::new(seed * 31 + t as u64);
        std::thread::spawn(move || (0..each).filter(|i| send(t * each + i, &mut random)).count())
    };
    (0..count).map(spawn).collect()
}

#[test]
fn stress_bounded_keeps_order_and_count() {
    stress(|seed| {
        let alive = Alive::default();
        let (tx, mut rx) = mpsc::channel(seed as usize % 40 + 1);
        let values = alive.clone();
        let send = move |number, random: &mut Random| match random.below(8) {
            0 => tx.try_send(values.value(number)).is_ok(),
            1 => match manual(tx.reserve()).poll() {
                // The reservation is either cancelled, or released.
                Poll::Pending => false,
                Poll::Ready(permit) => {
                    if random.below(2) == 0 {
                        return false;
                    }
                    permit.unwrap().send(values.value(number));
                    true
                }
            },
            2 => block_on(async {
                let permits = tx.reserve_many(random.below(tx.max_capacity()) + 1).await.unwrap();
                let sent = permits.take(1).map(|permit| permit.send(values.value(number)));
                sent.count() == 1
            }),
            _ => block_on(tx.send(values.value(number))).is_ok(),
        };
        let senders = spawn_senders(3, 300, send, seed);
        let mut last = [None; 3];
        let mut got = 0;
        let mut buffer = Vec::new();
        let mut random = Random::new(seed);
        while block_on(rx.recv_many(&mut buffer, random.below(9) + 1)) > 0 {
            for value in buffer.drain(..) {
                let before = last[value.number / 300].replace(value.number);
                assert!(before < Some(value.number), "values of one sender are out of order");
                got += 1;
            }
        }
        let sent: usize = senders.into_iter().map(|s| s.join().unwrap()).sum();
        assert_eq!((got, rx.capacity()), (sent, rx.max_capacity()));
        drop(rx);
        assert_eq!(alive.count(), 0);
    });
}

#[test]
fn stress_unbounded_keeps_order_and_count() {
    stress(|seed| {
        let alive = Alive::default();
        let (tx, mut rx) = mpsc::unbounded_channel();
        let values = alive.clone();
        let send = move |number, _: &mut Random| tx.send(values.value(number)).is_ok();
        let senders = spawn_senders(3, 1000, send, seed);
        let mut last = [None; 3];
        let mut got = 0;
        loop {
            let value = match got % 5 {
                0 => rx.try_recv().ok(),
                _ => match block_on(rx.recv()) {
                    Some(value) => Some(value),
                    None => break,
                },
            };
            if let Some(value) = value {
                let before = last[value.number / 1000].replace(value.number);
                assert!(before < Some(value.number), "values of one sender are out of order");
            }
            got += 1;
        }
        senders.into_iter().for_each(|s| assert_eq!(s.join().unwrap(), 1000));
        assert_eq!(alive.count(), 0);
        assert_eq!(last, [Some(999), Some(1999), Some(2999)]);
    });
}

#[test]
fn stress_close_and_drop_race_with_sends() {
    stress(|seed| {
        let alive = Alive::default();
        let (tx, mut rx) = mpsc::channel(2);
        let closed = Arc::new(AtomicUsize::new(0));
        let values = alive.clone();
        let closed_seen = closed.clone();
        let weak = tx.downgrade();
        let send = move |number, random: &mut Random| {
            if random.below(20) == 0 && tx.is_closed() {
                block_on(tx.closed());
                closed_seen.fetch_add(1, SeqCst);
            }
            block_on(tx.send(values.value(number))).is_ok()
        };
        let senders = spawn_senders(2, 50, send, seed);
        let mut got = 0;
        let take = Random::new(seed).below(120);
        while got < take && block_on(rx.recv()).is_some() {
            got += 1;
        }
        if seed % 2 == 0 {
            // All values that were accepted are received, and then `None`.
            rx.close();
            while block_on(rx.recv()).is_some() {
                got += 1;
            }
            let sent: usize = senders.into_iter().map(|s| s.join().unwrap()).sum();
            assert_eq!(sent, got);
        } else {
            drop(rx);
            senders.into_iter().for_each(|s| assert!(s.join().unwrap() <= 50));
        }
        assert!(weak.upgrade().is_none());
        drop(weak);
        assert_eq!(alive.count(), 0);
    });
}
