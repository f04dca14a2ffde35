use super::subject::sync::mpsc::{self, OwnedPermit, Receiver, Sender, WeakSender};
use crate::support::{Line, Log, Random, Rung, shown};
use std::task::Context;

/// What a sender that waited has got.
enum Got {
    Room(OwnedPermit<usize>),
    Told(String),
}

async fn send(tx: Sender<usize>, value: usize) -> Got {
    Got::Told(shown(&tx.send(value).await))
}

async fn reserve(tx: Sender<usize>) -> Got {
    match tx.reserve_owned().await {
        Ok(permit) => Got::Room(permit),
        Err(error) => Got::Told(shown(&error)),
    }
}

/// Uses one of `n` permits.
async fn reserve_many(tx: Sender<usize>, n: usize, value: usize) -> Got {
    let count = tx.reserve_many(n).await.map(|mut permits| {
        permits.next().into_iter().for_each(|permit| permit.send(value));
        permits.len()
    });
    Got::Told(shown(&count))
}

async fn closed(tx: Sender<usize>) -> Got {
    tx.closed().await;
    Got::Told(String::from("closed"))
}

struct Run {
    random: Random,
    weak: WeakSender<usize>,
    txs: Vec<Sender<usize>>,
    rx: Option<Receiver<usize>>,
    /// Of the receiver, since it was last ready.
    rung: Rung,
    line: Line<Got>,
    held: Vec<OwnedPermit<usize>>,
}

impl Run {
    fn send_step(&mut self, id: usize, tx: Sender<usize>) -> String {
        let n = self.random.below(5);
        let got = match self.random.below(10) {
            0 | 1 => return shown(&tx.try_send(id)),
            2 | 3 => self.line.begin(id, send(tx, id)),
            4 => self.line.begin(id, reserve(tx)),
            5 => self.line.begin(id, reserve_many(tx, n, id)),
            6 => return shown(&tx.try_reserve_many(n).map(|permits| permits.len())),
            7 => return shown(&tx.try_reserve_owned().map(|permit| self.held.push(permit))),
            8 => self.line.begin(id, closed(tx)),
            _ => return shown(&self.random.one_in(2).then(|| self.txs.pop().map(drop))),
        };
        self.keep(got)
    }

    fn keep(&mut self, got: Option<Got>) -> String {
        match got {
            None => String::from("waits"),
            Some(Got::Told(outcome)) => outcome,
            Some(Got::Room(permit)) => shown(&self.held.push(permit)),
        }
    }

    fn receive_step(&mut self) -> String {
        let Some(rx) = &mut self.rx else { return String::new() };
        let waker = self.rung.waker();
        let mut cx = Context::from_waker(&waker);
        let (is_ready, outcome) = match self.random.below(8) {
            0..=2 => {
                let received = rx.poll_recv(&mut cx);
                (received.is_ready(), shown(&received))
            }
            3 | 4 => {
                let mut values = Vec::new();
                let count = rx.poll_recv_many(&mut cx, &mut values, self.random.below(4));
                (count.is_ready(), shown(&(count, values)))
            }
            5 | 6 => (false, shown(&rx.try_recv())),
            _ if self.random.one_in(8) => (false, shown(&rx.close())),
            _ if self.random.one_in(20) => (false, shown(&self.rx.take().map(drop))),
            _ => (false, String::new()),
        };
        if is_ready {
            self.rung = Rung::default();
        }
        outcome
    }

    fn step(&mut self, id: usize) -> String {
        let tx = self.random.pick(&mut self.txs).cloned();
        let outcome = match (self.random.below(8), tx) {
            (0..=2, Some(tx)) => self.send_step(id, tx),
            (3, _) => {
                let got = self.line.poll_one(&mut self.random);
                self.keep(got)
            }
            (4, _) => {
                let permit = self.random.take(&mut self.held);
                shown(&if self.random.one_in(2) {
                    permit.map(|permit| drop(permit.send(id)))
                } else {
                    permit.map(drop)
                })
            }
            (5, _) if self.random.one_in(3) => shown(&self.line.give_up_one(&mut self.random)),
            (5, _) => shown(&self.weak.upgrade().map(|tx| self.txs.push(tx))),
            _ => self.receive_step(),
        };
        let sender = self.txs.first().map(|tx| (tx.capacity(), tx.is_closed(), tx.strong_count()));
        let receiver = self
            .rx
            .as_ref()
            .map(|rx| (rx.len(), rx.is_closed(), rx.capacity(), rx.sender_strong_count()));
        // After a close, Tokio also wakes a receiver for which there is nothing new.
        let is_closed = receiver.is_none_or(|(_, is_closed, ..)| is_closed);
        let woken = (!is_closed).then(|| self.rung.count() > 0);
        format!("{outcome} | {sender:?} {receiver:?} {woken:?} [{}]", self.line.woken())
    }
}

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let (tx, rx) = mpsc::channel(1 + random.below(4));
    let (weak, rung, line) = (tx.downgrade(), Rung::default(), Line::new());
    let mut run = Run { random, weak, txs: vec![tx], rx: Some(rx), rung, line, held: Vec::new() };
    (0..150).map(|id| run.step(id)).collect()
}
