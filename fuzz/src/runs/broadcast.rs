use super::place::drive;
use super::subject::sync::broadcast::error::{RecvError, TryRecvError};
use super::subject::sync::broadcast::{self, Receiver, Sender, WeakSender};
use crate::log::Log;
use crate::pending_futures::{PendingFutures, WAKE_BATCH, pick, take, waiting_max};
use crate::script::Script;
use crate::scripts::broadcast::Op;
use crate::value::Value;
use crate::wakers::{self, WakerSlot};
use std::pin::pin;

#[derive(Debug, Hash)]
enum Refused {
    Closed,
    Empty,
    Lagged(u64),
}

impl From<RecvError> for Refused {
    fn from(error: RecvError) -> Self {
        match error {
            RecvError::Closed => Refused::Closed,
            RecvError::Lagged(count) => Refused::Lagged(count),
        }
    }
}

impl From<TryRecvError> for Refused {
    fn from(error: TryRecvError) -> Self {
        match error {
            TryRecvError::Closed => Refused::Closed,
            TryRecvError::Empty => Refused::Empty,
            TryRecvError::Lagged(count) => Refused::Lagged(count),
        }
    }
}

type Received = (Receiver<Value>, Result<Value, Refused>);

async fn recv(mut rx: Receiver<Value>) -> Received {
    let received = rx.recv().await.map_err(Refused::from);
    (rx, received)
}

async fn closed(tx: Sender<Value>) {
    tx.closed().await;
}

struct Run<'a> {
    number: u64,
    txs: Vec<Sender<Value>>,
    weaks: Vec<WeakSender<Value>>,
    rxs: Vec<Receiver<Value>>,
    waker_slot: WakerSlot,
    futures: PendingFutures<'a, Received>,
    closings: PendingFutures<'a, ()>,
}

impl Run<'_> {
    fn keep(&mut self, received: Option<Received>, log: &mut Log) {
        let (rx, received) = received.unzip();
        log.note("received", &received);
        self.rxs.extend(rx);
    }

    fn receive(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::TryRecv { receiver } => {
                let received = pick(&mut self.rxs, receiver).map(Receiver::try_recv);
                log.note("received", &received.map(|received| received.map_err(Refused::from)));
            }
            Op::Recv { receiver, waker } => {
                let Some(rx) = take(&mut self.rxs, receiver) else { return };
                let received = self.futures.begin(waker, recv(rx));
                self.keep(received, log);
            }
            Op::RecvOnce { receiver, waker } => {
                let Some(rx) = pick(&mut self.rxs, receiver) else { return };
                let polled = self.waker_slot.poll(waker, |cx| pin!(rx.recv()).poll(cx));
                log.note("received", &polled.map_err(Refused::from));
            }
            Op::Poll { which, waker } => {
                let received = self.futures.poll(which, waker);
                self.keep(received, log);
            }
            _ => {}
        }
    }

    fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn | Op::SpendBudget { .. } => {}
            Op::TryRecv { .. } | Op::Recv { .. } | Op::RecvOnce { .. } | Op::Poll { .. } => {
                self.receive(op, log);
            }
            Op::Send { sender } => {
                let value = Value::new(self.number);
                let sent = pick(&mut self.txs, sender).map(|tx| tx.send(value));
                log.note("sent", &sent.map(|sent| sent.map_err(|error| error.0)));
            }
            Op::Subscribe { sender } => {
                let rx = pick(&mut self.txs, sender).map(|tx| tx.subscribe());
                self.rxs.extend(rx);
            }
            Op::Resubscribe { receiver } => {
                let rx = pick(&mut self.rxs, receiver).map(|rx| rx.resubscribe());
                self.rxs.extend(rx);
            }
            Op::DropReceiver { receiver } => drop(take(&mut self.rxs, receiver)),
            Op::GiveUp { which } => log.note("given up", &self.futures.give_up(which)),
            Op::SenderClosed { sender, waker } => {
                let Some(tx) = pick(&mut self.txs, sender).cloned() else { return };
                log.note("closed", &self.closings.begin(waker, closed(tx)));
            }
            Op::PollClosed { which, waker } => {
                log.note("closed", &self.closings.poll(which, waker));
            }
            Op::GiveUpClosed { which } => log.note("given up", &self.closings.give_up(which)),
            Op::CloneSender { sender } => {
                let clone = pick(&mut self.txs, sender).cloned();
                self.txs.extend(clone);
            }
            Op::DropSender { sender } => drop(take(&mut self.txs, sender)),
            Op::Downgrade { sender } => {
                let weak = pick(&mut self.txs, sender).map(|tx| tx.downgrade());
                self.weaks.extend(weak);
            }
            Op::Upgrade { weak } => {
                let tx = pick(&mut self.weaks, weak).and_then(|weak| weak.upgrade());
                log.note("upgraded", &tx.is_some());
                self.txs.extend(tx);
            }
            Op::DropWeak { weak } => drop(take(&mut self.weaks, weak)),
        }
    }

    fn note_counts(&self, log: &mut Log) {
        if let Some(tx) = self.txs.first() {
            log.note("channel", &(tx.len(), tx.is_empty(), tx.receiver_count()));
            log.note("senders", &(tx.strong_count(), tx.weak_count()));
        }
        if let Some(weak) = self.weaks.first() {
            log.note("senders", &(weak.strong_count(), weak.weak_count()));
        }
        for rx in &self.rxs {
            log.note("receiver", &(rx.len(), rx.is_empty(), rx.is_closed()));
            log.note("senders", &(rx.sender_strong_count(), rx.sender_weak_count()));
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let capacity = 1 + usize::from(script.size % 16);
    let (tx, rx) = broadcast::channel(capacity);
    let waiting_max = waiting_max(script.size);
    let reacting = tx.downgrade();
    wakers::react(move |kind| {
        let Some(tx) = reacting.upgrade().filter(|_| waiting_max == WAKE_BATCH) else { return };
        match kind % 3 {
            0 => drop(tx.send(Value::new(1000))),
            1 => drop(tx.subscribe()),
            _ => drop(tx.subscribe().try_recv()),
        }
    });
    let mut run = Run {
        number: 0,
        txs: vec![tx],
        weaks: Vec::new(),
        rxs: vec![rx],
        waker_slot: WakerSlot::default(),
        futures: PendingFutures::default(),
        closings: PendingFutures::default(),
    };
    drive(script, log, |op, log| {
        match op {
            Op::Recv { .. } if run.futures.len() >= waiting_max => return,
            Op::SenderClosed { .. } if run.closings.len() >= waiting_max => return,
            _ => {}
        }
        run.number += 1;
        run.step(op, log);
        run.note_counts(log);
    });
}
