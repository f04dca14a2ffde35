use super::place::drive;
use super::subject::sync::watch::{self, Receiver, Sender};
use crate::log::Log;
use crate::pending_futures::{PendingFutures, pick, take};
use crate::script::Script;
use crate::scripts::watch::Op;
use crate::value::Value;
use crate::wakers::{self, WakerSlot};
use std::pin::pin;

/// A receiver that waited, and the value it waited for with whether that had changed, or `None` if
/// the channel was closed.
type Waited = (Receiver<Value>, Option<(u64, bool)>);

async fn changed(mut rx: Receiver<Value>) -> Waited {
    let seen = rx.changed().await.ok().map(|()| (0, false));
    (rx, seen)
}

async fn wait_for(mut rx: Receiver<Value>, rest: u64) -> Waited {
    let seen = rx.wait_for(|value| value.0 % 5 == rest).await.ok();
    let seen = seen.map(|seen| (seen.0, seen.has_changed()));
    (rx, seen)
}

async fn wait_for_panics(mut rx: Receiver<Value>) -> Waited {
    let _ = rx.wait_for(|value| if value.0 % 3 == 0 { panic!("on purpose") } else { false }).await;
    (rx, None)
}

async fn closed(tx: Sender<Value>) {
    tx.closed().await;
}

struct Run<'a> {
    number: u64,
    txs: Vec<Sender<Value>>,
    rxs: Vec<Receiver<Value>>,
    waker_slot: WakerSlot,
    futures: PendingFutures<'a, Waited>,
    closings: PendingFutures<'a, ()>,
}

impl Run<'_> {
    fn keep(&mut self, waited: Option<Waited>, log: &mut Log) {
        let (rx, seen) = waited.unzip();
        log.note("changed", &seen);
        self.rxs.extend(rx);
    }

    fn send(&mut self, op: Op, log: &mut Log) {
        let (Op::Send { sender }
        | Op::SendReplace { sender }
        | Op::SendModify { sender }
        | Op::SendModifyPanics { sender }
        | Op::SendIfModified { sender, .. }
        | Op::SendIfModifiedPanics { sender }
        | Op::SenderBorrow { sender }) = op
        else {
            return;
        };
        let number = self.number;
        let Some(tx) = pick(&mut self.txs, sender) else { return };
        match op {
            Op::Send { .. } => {
                log.note("sent", &tx.send(Value::new(number)).map_err(|error| error.0));
            }
            Op::SendReplace { .. } => log.note("replaced", &tx.send_replace(Value::new(number))),
            Op::SendModify { .. } => tx.send_modify(|value| value.0 += 1),
            Op::SendModifyPanics { .. } => tx.send_modify(|value| {
                value.0 += 1;
                panic!("on purpose");
            }),
            Op::SendIfModified { told, .. } => {
                let is_told = tx.send_if_modified(|value| {
                    value.0 += 1;
                    told % 2 == 1
                });
                log.note("told", &is_told);
            }
            Op::SendIfModifiedPanics { .. } => {
                tx.send_if_modified(|_| panic!("on purpose"));
            }
            _ => {
                let seen = tx.borrow();
                log.note("borrowed", &(seen.0, seen.has_changed()));
            }
        }
    }

    fn receive(&mut self, op: Op, log: &mut Log) {
        let waited = match op {
            Op::Changed { receiver, waker } => {
                let Some(rx) = take(&mut self.rxs, receiver) else { return };
                self.futures.begin(waker, changed(rx))
            }
            Op::WaitFor { receiver, rest, waker } => {
                let Some(rx) = take(&mut self.rxs, receiver) else { return };
                self.futures.begin(waker, wait_for(rx, u64::from(rest % 5)))
            }
            Op::WaitForPanics { receiver, waker } => {
                let Some(rx) = take(&mut self.rxs, receiver) else { return };
                self.futures.begin(waker, wait_for_panics(rx))
            }
            Op::ChangedOnce { receiver, waker } => {
                let Some(rx) = pick(&mut self.rxs, receiver) else { return };
                let polled = self.waker_slot.poll(waker, |cx| pin!(rx.changed()).poll(cx));
                return log.note("changed", &polled.map(|changed| changed.is_ok()));
            }
            Op::Poll { which, waker } => self.futures.poll(which, waker),
            _ => return,
        };
        self.keep(waited, log);
    }

    fn look(&mut self, op: Op, log: &mut Log) {
        let (Op::Borrow { receiver }
        | Op::BorrowAndUpdate { receiver }
        | Op::HasChanged { receiver }
        | Op::MarkChanged { receiver }
        | Op::MarkUnchanged { receiver }) = op
        else {
            return;
        };
        let Some(rx) = pick(&mut self.rxs, receiver) else { return };
        match op {
            Op::Borrow { .. } => {
                let seen = rx.borrow();
                log.note("borrowed", &(seen.0, seen.has_changed()));
            }
            Op::BorrowAndUpdate { .. } => {
                let seen = rx.borrow_and_update();
                log.note("borrowed", &(seen.0, seen.has_changed()));
            }
            Op::HasChanged { .. } => log.note("has changed", &rx.has_changed().ok()),
            Op::MarkChanged { .. } => rx.mark_changed(),
            _ => rx.mark_unchanged(),
        }
    }

    fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn | Op::SpendBudget { .. } => {}
            Op::Subscribe { sender } => {
                let rx = pick(&mut self.txs, sender).map(|tx| tx.subscribe());
                self.rxs.extend(rx);
            }
            Op::CloneSender { sender } => {
                let clone = pick(&mut self.txs, sender).cloned();
                self.txs.extend(clone);
            }
            Op::DropSender { sender } => drop(take(&mut self.txs, sender)),
            Op::SenderClosed { sender, waker } => {
                let Some(tx) = pick(&mut self.txs, sender).cloned() else { return };
                log.note("closed", &self.closings.begin(waker, closed(tx)));
            }
            Op::PollClosed { which, waker } => {
                log.note("closed", &self.closings.poll(which, waker));
            }
            Op::GiveUpClosed { which } => log.note("given up", &self.closings.give_up(which)),
            Op::CloneReceiver { receiver } => {
                let clone = pick(&mut self.rxs, receiver).cloned();
                self.rxs.extend(clone);
            }
            Op::DropReceiver { receiver } => drop(take(&mut self.rxs, receiver)),
            Op::GiveUp { which } => log.note("given up", &self.futures.give_up(which)),
            Op::Changed { .. }
            | Op::WaitFor { .. }
            | Op::WaitForPanics { .. }
            | Op::ChangedOnce { .. }
            | Op::Poll { .. } => self.receive(op, log),
            Op::Borrow { .. }
            | Op::BorrowAndUpdate { .. }
            | Op::HasChanged { .. }
            | Op::MarkChanged { .. }
            | Op::MarkUnchanged { .. } => self.look(op, log),
            _ => self.send(op, log),
        }
    }

    fn note_counts(&self, log: &mut Log) {
        for rx in &self.rxs {
            log.note("receiver", &(rx.has_changed().ok(), rx.is_closed()));
        }
        if let Some(tx) = self.txs.first() {
            log.note("sender", &(tx.is_closed(), tx.receiver_count(), tx.sender_count()));
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let (tx, rx) = watch::channel(Value::new(0));
    // Wakers that look at the value need a receiver, and with one the channel never closes, so only
    // some scripts have them.
    let reacting = (script.size % 4 == 3).then(|| rx.clone());
    wakers::react(move |kind| {
        let Some(rx) = &reacting else { return };
        match kind % 3 {
            0 => drop(rx.borrow()),
            1 => drop(rx.clone()),
            _ => drop(rx.clone().borrow_and_update()),
        }
    });
    let (waker_slot, futures, closings) =
        (WakerSlot::default(), PendingFutures::default(), PendingFutures::default());
    let mut run = Run { number: 0, txs: vec![tx], rxs: vec![rx], waker_slot, futures, closings };
    drive(script, log, |op, log| {
        run.number += 1;
        run.step(op, log);
        run.note_counts(log);
    });
}
