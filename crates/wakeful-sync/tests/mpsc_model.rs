//! Channels against a model: a `VecDeque` and a list of who waits, in random order; and under stress.

mod support;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

use support::{Alive, Counted, Manual, Random, manual, stress};
use wakeful_base::block_on;
use wakeful_sync::mpsc::{self, OwnedPermit, Sender};

type Reserve = std::pin::Pin<
    Box<dyn Future<Output = Result<OwnedPermit<Counted>, mpsc::error::SendError<()>>>>,
>;

/// What a bounded channel should be like.
struct Model {
    bound: usize,
    values: VecDeque<usize>,
    permits: usize,
    /// Who waits, first to last, and whether room has been given to it.
    waiting: VecDeque<bool>,
}

impl Model {
    fn free(&self) -> usize {
        let granted = self.waiting.iter().filter(|granted| **granted).count();
        self.bound - self.values.len() - self.permits - granted
    }

    fn grant(&mut self) {
        while self.free() > 0 {
            let Some(next) = self.waiting.iter_mut().find(|granted| !**granted) else { break };
            *next = true;
        }
    }
}

fn run(seed: u64) {
    let mut random = Random::new(seed);
    let alive = Alive::default();
    let bound = random.below(5) + 1;
    let (tx, mut rx) = mpsc::channel::<Counted>(bound);
    let mut model = Model { bound, values: VecDeque::new(), permits: 0, waiting: VecDeque::new() };
    let mut permits: Vec<OwnedPermit<Counted>> = Vec::new();
    let mut waiting: VecDeque<Manual<Reserve>> = VecDeque::new();
    let reserve = |tx: &Sender<Counted>| manual(Box::pin(tx.clone().reserve_owned()) as Reserve);
    for number in 0..300 {
        match random.below(7) {
            0 => {
                let sent = tx.try_send(alive.value(number)).is_ok();
                assert_eq!(sent, model.free() > 0, "seed {seed}, step {number}");
                if sent {
                    model.values.push_back(number);
                }
            }
            1 | 2 => {
                let got = rx.try_recv().ok().map(|value| value.number);
                assert_eq!(got, model.values.pop_front(), "seed {seed}, step {number}");
            }
            3 => {
                let mut future = reserve(&tx);
                match future.poll() {
                    Poll::Ready(permit) => {
                        assert!(model.free() > 0, "seed {seed}, step {number}");
                        permits.push(permit.unwrap());
                        model.permits += 1;
                    }
                    Poll::Pending => {
                        assert_eq!(model.free(), 0, "seed {seed}, step {number}");
                        waiting.push_back(future);
                        model.waiting.push_back(false);
                    }
                }
            }
            4 if !waiting.is_empty() => {
                // Looked at in any order, they are still served in theirs.
                let at = random.below(waiting.len());
                assert_eq!(waiting[at].is_woken(), model.waiting[at], "seed {seed}, step {number}");
                if random.below(3) == 0 {
                    drop(waiting.remove(at));
                    model.waiting.remove(at);
                } else if let Poll::Ready(permit) = waiting[at].poll() {
                    assert!(model.waiting[at], "seed {seed}, step {number}");
                    permits.push(permit.unwrap());
                    model.permits += 1;
                    waiting.remove(at);
                    model.waiting.remove(at);
                } else {
                    assert!(!model.waiting[at], "seed {seed}, step {number}");
                }
            }
            5 | 6 if !permits.is_empty() => {
                let permit = permits.swap_remove(random.below(permits.len()));
                model.permits -= 1;
                if random.below(2) == 0 {
                    permit.send(alive.value(number));
                    model.values.push_back(number);
                }
            }
            _ => {}
        }
        model.grant();
        assert_eq!(tx.capacity(), model.free(), "seed {seed}, step {number}");
        assert_eq!(rx.len(), model.values.len(), "seed {seed}, step {number}");
        assert_eq!(alive.count(), model.values.len(), "seed {seed}, step {number}");
    }
    drop(rx);
    for future in &mut waiting {
        assert!(future.ready().is_err());
    }
    drop((permits, tx));
    assert_eq!(alive.count(), 0);
}

#[test]
fn a_bounded_channel_is_like_its_model() {
    stress(run);
}

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
                // Given up, or given back.
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
                assert!(before < Some(value.number), "one sender's values out of order");
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
                assert!(before < Some(value.number), "one sender's values out of order");
            }
            got += 1;
        }
        senders.into_iter().for_each(|s| assert_eq!(s.join().unwrap(), 1000));
        assert_eq!(alive.count(), 0);
        assert_eq!(last, [Some(999), Some(1999), Some(2999)]);
    });
}

#[test]
fn stress_ends_that_race() {
    stress(|seed| {
        let alive = Alive::default();
        let (tx, mut rx) = mpsc::channel(2);
        let closed = Arc::new(AtomicUsize::new(0));
        let values = alive.clone();
        let told = closed.clone();
        let weak = tx.downgrade();
        let send = move |number, random: &mut Random| {
            if random.below(20) == 0 && tx.is_closed() {
                block_on(tx.closed());
                told.fetch_add(1, SeqCst);
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
            // All that was accepted comes, and then the end.
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
