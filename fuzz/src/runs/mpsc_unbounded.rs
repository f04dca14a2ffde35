use super::place::drive;
use super::subject::sync::mpsc::{self, UnboundedReceiver, UnboundedSender, WeakUnboundedSender};
use crate::log::Log;
use crate::pending_futures::{PendingFutures, pick, take};
use crate::script::Script;
use crate::scripts::mpsc_unbounded::Op;
use crate::value::Value;
use crate::wakers::{self, WakerSlot};
use std::pin::pin;

struct Run<'a> {
    number: u64,
    txs: Vec<UnboundedSender<Value>>,
    weaks: Vec<WeakUnboundedSender<Value>>,
    rx: Option<UnboundedReceiver<Value>>,
    waker_slot: WakerSlot,
    futures: PendingFutures<'a, ()>,
}

async fn closed(tx: UnboundedSender<Value>) {
    tx.closed().await;
}

impl Run<'_> {
    fn receive(&mut self, op: Op, log: &mut Log) {
        let Some(rx) = &mut self.rx else { return };
        match op {
            Op::PollRecv { waker } => {
                log.note("received", &self.waker_slot.poll(waker, |cx| rx.poll_recv(cx)));
            }
            Op::PollRecvMany { count, waker } => {
                let (mut values, limit) = (Vec::new(), usize::from(count % 64));
                let polled =
                    self.waker_slot.poll(waker, |cx| rx.poll_recv_many(cx, &mut values, limit));
                log.note("received", &(polled, values));
            }
            Op::Recv { waker } => {
                log.note("received", &self.waker_slot.poll(waker, |cx| pin!(rx.recv()).poll(cx)));
            }
            Op::TryRecv => {
                let received =
                    rx.try_recv().map_err(|error| error == mpsc::error::TryRecvError::Empty);
                log.note("received", &received);
            }
            Op::Close => {
                rx.close();
                // The caller of `close` has the receiver, so it need not be woken to learn that the
                // channel is closed. Tokio may wake it.
                self.waker_slot.forget_need();
            }
            _ => self.rx = None,
        }
    }

    fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn | Op::SpendBudget { .. } => {}
            Op::Send { sender } => {
                let value = Value::new(self.number);
                let sent = pick(&mut self.txs, sender).map(|tx| tx.send(value));
                log.note("sent", &sent.map(|sent| sent.map_err(|error| error.0.0)));
            }
            Op::SendMany { sender, count } => {
                let Some(tx) = pick(&mut self.txs, sender) else { return };
                for _ in 0..30 + count % 128 {
                    log.note("sent", &tx.send(Value::new(self.number)).is_ok());
                }
            }
            Op::SenderClosed { sender, waker } => {
                let Some(tx) = pick(&mut self.txs, sender).cloned() else { return };
                log.note("closed", &self.futures.begin(waker, closed(tx)));
            }
            Op::Poll { which, waker } => log.note("closed", &self.futures.poll(which, waker)),
            Op::GiveUp { which } => log.note("given up", &self.futures.give_up(which)),
            Op::CloneSender { sender } => {
                let clone = pick(&mut self.txs, sender).cloned();
                self.txs.extend(clone);
            }
            Op::DropSender { sender } => drop(take(&mut self.txs, sender)),
            Op::Downgrade { sender } => {
                let weak = pick(&mut self.txs, sender).map(|tx| tx.downgrade());
                self.weaks.extend(weak);
            }
            Op::CloneWeak { weak } => {
                let clone = pick(&mut self.weaks, weak).cloned();
                self.weaks.extend(clone);
            }
            Op::Upgrade { weak } => {
                let tx = pick(&mut self.weaks, weak).and_then(|weak| weak.upgrade());
                log.note("upgraded", &tx.is_some());
                self.txs.extend(tx);
            }
            Op::DropWeak { weak } => drop(take(&mut self.weaks, weak)),
            Op::PollRecv { .. }
            | Op::PollRecvMany { .. }
            | Op::Recv { .. }
            | Op::TryRecv
            | Op::Close
            | Op::DropReceiver => self.receive(op, log),
        }
    }

    fn note_counts(&self, log: &mut Log) {
        if let Some(tx) = self.txs.first() {
            log.note("senders", &(tx.strong_count(), tx.weak_count(), tx.is_closed()));
        }
        if let Some(weak) = self.weaks.first() {
            log.note("senders", &(weak.strong_count(), weak.weak_count()));
        }
        if let Some(rx) = &self.rx {
            log.note("receiver", &(rx.len(), rx.is_empty(), rx.is_closed()));
            log.note("senders", &(rx.sender_strong_count(), rx.sender_weak_count()));
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let (tx, rx) = mpsc::unbounded_channel();
    let reacting = tx.downgrade();
    wakers::react(move |kind| {
        let Some(tx) = reacting.upgrade() else { return };
        match kind % 2 {
            0 => drop(tx.send(Value::new(1000))),
            _ => drop(tx.clone()),
        }
    });
    let (weaks, waker_slot, futures) =
        (Vec::new(), WakerSlot::counting_needed(), PendingFutures::default());
    let mut run = Run { number: 0, txs: vec![tx], weaks, rx: Some(rx), waker_slot, futures };
    drive(script, log, |op, log| {
        run.number += 1;
        run.step(op, log);
        run.note_counts(log);
    });
}
