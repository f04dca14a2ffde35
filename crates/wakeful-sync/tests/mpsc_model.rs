//! Random operations on channels, checked against a model: a `VecDeque` and a list of waiting
//! senders.

mod support;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use support::{Alive, Counted, Manual, Random, WakeCount, manual, stress};
use wakeful_sync::mpsc::error::TryRecvError;
use wakeful_sync::mpsc::{self, Permit, Receiver, Sender};

/// The expected state of a bounded channel.
struct Model {
    bound: usize,
    values: VecDeque<usize>,
    permits: usize,
    /// The waiting senders, in order.
    waiting: VecDeque<WaitingSender>,
    is_closed: bool,
}

/// How much room a waiting sender wants, and how much of it has been assigned to it.
struct WaitingSender {
    wanted: usize,
    assigned: usize,
}

impl WaitingSender {
    fn is_granted(&self) -> bool {
        self.assigned == self.wanted
    }
}

impl Model {
    fn assigned(&self) -> usize {
        self.waiting.iter().map(|sender| sender.assigned).sum()
    }

    fn free(&self) -> usize {
        self.bound - self.values.len() - self.permits - self.assigned()
    }

    /// Returns whether `n` permits are available without waiting.
    fn can_take(&self, n: usize) -> bool {
        let no_sender_waits = self.waiting.iter().all(WaitingSender::is_granted);
        !self.is_closed && (n == 0 || no_sender_waits && n <= self.free())
    }

    /// Assigns free room to the waiting senders: all of it to the first one, until that has enough.
    fn assign_room(&mut self) {
        while !self.is_closed && self.free() > 0 {
            let free = self.free();
            let Some(first) = self.waiting.iter_mut().find(|sender| !sender.is_granted()) else {
                break;
            };
            first.assigned += free.min(first.wanted - first.assigned);
        }
    }

    /// Returns whether no value can come any more.
    fn is_over(&self) -> bool {
        self.is_closed && self.values.is_empty() && self.permits == 0 && self.assigned() == 0
    }

    fn pop(&mut self) -> Result<usize, TryRecvError> {
        match self.values.pop_front() {
            Some(value) => Ok(value),
            None if self.is_over() => Err(TryRecvError::Disconnected),
            None => Err(TryRecvError::Empty),
        }
    }
}

/// The result of an attempt to send or to reserve.
enum Done<'a> {
    Sent(usize),
    Reserved(Vec<Permit<'a, Counted>>),
    Closed,
}

type Attempt<'a> = Manual<Pin<Box<dyn Future<Output = Done<'a>> + 'a>>>;

fn reserve<'a>(tx: &'a Sender<Counted>, n: usize) -> Attempt<'a> {
    manual(Box::pin(async move {
        match tx.reserve_many(n).await {
            Ok(permits) => Done::Reserved(permits.collect()),
            Err(_) => Done::Closed,
        }
    }))
}

fn send(tx: &Sender<Counted>, value: Counted) -> Attempt<'_> {
    manual(Box::pin(async move {
        let number = value.number;
        match tx.send(value).await {
            Ok(()) => Done::Sent(number),
            Err(_) => Done::Closed,
        }
    }))
}

/// A bounded channel and its model, side by side.
struct Run<'a> {
    random: Random,
    tx: &'a Sender<Counted>,
    rx: Receiver<Counted>,
    rx_wakes: WakeCount,
    /// The number of wake-ups the receiver had when it began to wait; `None` if it does not wait.
    rx_waits: Option<usize>,
    permits: Vec<Permit<'a, Counted>>,
    waiting: VecDeque<Attempt<'a>>,
    model: Model,
}

impl<'a> Run<'a> {
    fn new(seed: u64, tx: &'a Sender<Counted>, rx: Receiver<Counted>) -> Self {
        let model = Model {
            bound: rx.max_capacity(),
            values: VecDeque::new(),
            permits: 0,
            waiting: VecDeque::new(),
            is_closed: false,
        };
        Run {
            random: Random::new(seed),
            tx,
            rx,
            rx_wakes: WakeCount::default(),
            rx_waits: None,
            permits: Vec::new(),
            waiting: VecDeque::new(),
            model,
        }
    }

    fn step(&mut self, value: Counted) {
        let number = value.number;
        match self.random.below(16) {
            0 | 1 => {
                let can = self.model.can_take(1);
                assert_eq!(self.tx.try_send(value).is_ok(), can);
                if can {
                    self.model.values.push_back(number);
                }
            }
            2 | 3 => self.attempt(send(self.tx, value), 1),
            4 | 5 => {
                let n = self.random.below(self.model.bound + 1);
                self.attempt(reserve(self.tx, n), n);
            }
            6..=8 if !self.waiting.is_empty() => self.poll_or_cancel_one_waiter(),
            9 | 10 if !self.permits.is_empty() => {
                let permit = self.permits.swap_remove(self.random.below(self.permits.len()));
                self.model.permits -= 1;
                if self.random.below(2) == 0 {
                    permit.send(value);
                    self.model.values.push_back(number);
                }
            }
            11 => {
                let got = self.rx.try_recv().map(|value| value.number);
                assert_eq!(got, self.model.pop());
            }
            12 | 13 => self.recv(),
            14 => self.recv_many(),
            15 if self.random.below(30) == 0 => {
                // The receiver closes the channel itself, so it is not woken for that.
                self.rx.close();
                self.model.is_closed = true;
                self.rx_waits = None;
            }
            _ => {}
        }
        self.model.assign_room();
        self.compare();
    }

    fn attempt(&mut self, mut attempt: Attempt<'a>, wanted: usize) {
        let can = self.model.can_take(wanted);
        match attempt.poll() {
            Poll::Pending => {
                assert!(!can && !self.model.is_closed);
                self.model.waiting.push_back(WaitingSender { wanted, assigned: 0 });
                self.waiting.push_back(attempt);
            }
            Poll::Ready(done) => assert_eq!(self.record(done), can),
        }
    }

    /// Polls a random waiting sender, or cancels it. Senders must still be served in their order.
    fn poll_or_cancel_one_waiter(&mut self) {
        let at = self.random.below(self.waiting.len());
        let is_granted = self.model.waiting[at].is_granted();
        assert_eq!(self.waiting[at].is_woken(), is_granted || self.model.is_closed);
        if self.random.below(3) == 0 {
            drop(self.waiting.remove(at));
            self.model.waiting.remove(at);
        } else if let Poll::Ready(done) = self.waiting[at].poll() {
            drop(self.waiting.remove(at));
            self.model.waiting.remove(at);
            assert_eq!(self.record(done), is_granted && !self.model.is_closed);
        } else {
            assert!(!is_granted && !self.model.is_closed);
        }
    }

    /// Records the result of an attempt; returns whether it got what it wanted.
    fn record(&mut self, done: Done<'a>) -> bool {
        match done {
            Done::Closed => return false,
            Done::Sent(number) => self.model.values.push_back(number),
            Done::Reserved(permits) => {
                self.model.permits += permits.len();
                self.permits.extend(permits);
            }
        }
        true
    }

    fn recv(&mut self) {
        let waker = self.rx_wakes.waker();
        match self.rx.poll_recv(&mut Context::from_waker(&waker)) {
            Poll::Ready(got) => {
                self.rx_waits = None;
                let expected = self.model.pop();
                assert_eq!(got.map(|value| value.number), expected.ok());
                assert_ne!(expected, Err(TryRecvError::Empty));
            }
            Poll::Pending => {
                self.rx_waits = Some(self.rx_wakes.count());
                assert_eq!(self.model.pop(), Err(TryRecvError::Empty));
            }
        }
    }

    fn recv_many(&mut self) {
        let limit = self.random.below(4);
        let (waker, mut buffer) = (self.rx_wakes.waker(), Vec::new());
        match self.rx.poll_recv_many(&mut Context::from_waker(&waker), &mut buffer, limit) {
            Poll::Ready(count) => {
                self.rx_waits = None;
                assert_eq!(count, buffer.len());
                assert!(count > 0 || limit == 0 || self.model.is_over());
                let expected = self.model.values.len().min(limit);
                let expected: Vec<usize> = self.model.values.drain(..expected).collect();
                assert!(buffer.iter().map(|value| value.number).eq(expected));
            }
            Poll::Pending => {
                self.rx_waits = Some(self.rx_wakes.count());
                assert!(limit > 0);
                assert_eq!(self.model.pop(), Err(TryRecvError::Empty));
            }
        }
    }

    fn compare(&self) {
        assert_eq!(self.tx.capacity(), self.model.free());
        assert_eq!(self.rx.len(), self.model.values.len());
        assert_eq!(self.rx.is_empty(), self.model.values.is_empty());
        assert_eq!(self.tx.is_closed(), self.model.is_closed);
        if let Some(before) = self.rx_waits {
            let has_news = !self.model.values.is_empty() || self.model.is_over();
            assert!(!has_news || self.rx_wakes.count() > before, "the receiver was not woken");
        }
    }
}

/// Runs `run`, and prints the seed if it fails.
fn with_seed(seed: u64, run: impl FnOnce()) {
    struct ReportSeed(u64);
    impl Drop for ReportSeed {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("failed with seed {}", self.0);
            }
        }
    }
    let _report = ReportSeed(seed);
    run();
}

#[test]
fn a_bounded_channel_agrees_with_its_model() {
    stress(|seed| {
        with_seed(seed, || {
            let alive = Alive::default();
            let (tx, rx) = mpsc::channel(seed as usize % 5 + 1);
            let mut run = Run::new(seed, &tx, rx);
            for number in 0..300 {
                run.step(alive.value(number));
            }
            let Run { rx, waiting, permits, .. } = run;
            drop(rx);
            for mut attempt in waiting {
                assert!(matches!(attempt.ready(), Done::Closed));
            }
            drop(permits);
            alive.assert_none();
        });
    });
}

#[test]
fn an_unbounded_channel_agrees_with_its_model() {
    stress(|seed| {
        with_seed(seed, || {
            let (mut random, alive, wakes) =
                (Random::new(seed), Alive::default(), WakeCount::default());
            let (tx, mut rx) = mpsc::unbounded_channel();
            let (mut senders, weak) = (vec![tx.clone()], tx.downgrade());
            drop(tx);
            let (mut values, mut is_closed, mut waits_since) = (VecDeque::new(), false, None);
            for number in 0..300 {
                match random.below(12) {
                    0..=3 if !senders.is_empty() => {
                        let tx = &senders[random.below(senders.len())];
                        let sent = tx.send(alive.value(number));
                        assert_eq!(sent.is_err(), is_closed);
                        if !is_closed {
                            values.push_back(number);
                        }
                    }
                    4 | 5 => {
                        let got = rx.try_recv().map(|value: Counted| value.number);
                        let is_over = is_closed || senders.is_empty();
                        let none =
                            if is_over { TryRecvError::Disconnected } else { TryRecvError::Empty };
                        assert_eq!(got, values.pop_front().ok_or(none));
                    }
                    6..=8 => match rx.poll_recv(&mut Context::from_waker(&wakes.waker())) {
                        Poll::Ready(got) => {
                            waits_since = None;
                            assert!(got.is_some() || is_closed || senders.is_empty());
                            assert_eq!(got.map(|value| value.number), values.pop_front());
                        }
                        Poll::Pending => {
                            assert!(values.is_empty() && !is_closed && !senders.is_empty());
                            waits_since = Some(wakes.count());
                        }
                    },
                    9 => match weak.upgrade() {
                        Some(tx) => senders.push(tx),
                        None => assert!(senders.is_empty()),
                    },
                    10 if random.below(3) == 0 => drop(senders.pop()),
                    11 if random.below(40) == 0 => {
                        rx.close();
                        is_closed = true;
                    }
                    _ => {}
                }
                assert_eq!((rx.len(), rx.is_empty()), (values.len(), values.is_empty()));
                assert_eq!(rx.is_closed(), is_closed || senders.is_empty());
                assert_eq!(rx.sender_strong_count(), senders.len());
                let has_news = !values.is_empty() || senders.is_empty();
                if let (Some(before), true) = (waits_since, has_news) {
                    assert!(wakes.count() > before, "the receiver was not woken");
                }
            }
            drop(rx);
            alive.assert_none();
        });
    });
}
