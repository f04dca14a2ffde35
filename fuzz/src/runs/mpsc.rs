use super::place::drive;
use super::subject::sync::mpsc::error::{SendError, TryRecvError, TrySendError};
use super::subject::sync::mpsc::{self, OwnedPermit, Receiver, Sender, WeakSender};
use crate::log::Log;
use crate::pending_futures::{PendingFutures, pick, take};
use crate::script::Script;
use crate::scripts::mpsc::Op;
use crate::value::Value;
use crate::wakers::{self, WakerSlot};
use std::pin::pin;

#[derive(Debug, Hash)]
enum Refused {
    Full(u64),
    Closed(u64),
    Empty,
    Disconnected,
}

impl From<TrySendError<Value>> for Refused {
    fn from(error: TrySendError<Value>) -> Self {
        match error {
            TrySendError::Full(value) => Refused::Full(value.0),
            TrySendError::Closed(value) => Refused::Closed(value.0),
        }
    }
}

impl From<TrySendError<()>> for Refused {
    fn from(error: TrySendError<()>) -> Self {
        match error {
            TrySendError::Full(()) => Refused::Full(0),
            TrySendError::Closed(()) => Refused::Closed(0),
        }
    }
}

impl From<SendError<Value>> for Refused {
    fn from(error: SendError<Value>) -> Self {
        Refused::Closed(error.0.0)
    }
}

impl From<SendError<()>> for Refused {
    fn from(_: SendError<()>) -> Self {
        Refused::Closed(0)
    }
}

impl From<TryRecvError> for Refused {
    fn from(error: TryRecvError) -> Self {
        match error {
            TryRecvError::Empty => Refused::Empty,
            TryRecvError::Disconnected => Refused::Disconnected,
        }
    }
}

/// The output of a sender that waited.
enum Got {
    Permit(OwnedPermit<Value>),
    Count(usize),
    Nothing,
}

type Sent = Result<Got, Refused>;

async fn send(tx: Sender<Value>, value: Value) -> Sent {
    tx.send(value).await?;
    Ok(Got::Nothing)
}

/// Waits for a permit and sends with it.
async fn reserve(tx: Sender<Value>, value: Value) -> Sent {
    tx.reserve().await?.send(value);
    Ok(Got::Nothing)
}

async fn reserve_owned(tx: Sender<Value>) -> Sent {
    Ok(Got::Permit(tx.reserve_owned().await?))
}

/// Waits for `count` permits and sends with one of them.
async fn reserve_many(tx: Sender<Value>, count: usize, value: Value) -> Sent {
    let mut permits = tx.reserve_many(count).await?;
    permits.next().into_iter().for_each(|permit| permit.send(Value::new(value.0)));
    Ok(Got::Count(permits.len()))
}

async fn closed(tx: Sender<Value>) -> Sent {
    tx.closed().await;
    Ok(Got::Nothing)
}

struct Run<'a> {
    number: u64,
    txs: Vec<Sender<Value>>,
    weaks: Vec<WeakSender<Value>>,
    rx: Option<Receiver<Value>>,
    waker_slot: WakerSlot,
    futures: PendingFutures<'a, Sent>,
    permits: Vec<OwnedPermit<Value>>,
}

impl Run<'_> {
    fn value(&self) -> Value {
        Value::new(self.number)
    }

    fn keep(&mut self, got: Option<Sent>, log: &mut Log) {
        let (permit, outcome) = match got {
            Some(Ok(Got::Permit(permit))) => (Some(permit), Some(Ok(usize::MAX))),
            Some(Ok(Got::Count(count))) => (None, Some(Ok(count))),
            Some(Ok(Got::Nothing)) => (None, Some(Ok(0))),
            Some(Err(refused)) => (None, Some(Err(refused))),
            None => (None, None),
        };
        log.note("sent", &outcome);
        self.permits.extend(permit);
    }

    fn wait(&mut self, op: Op, log: &mut Log) {
        let value = self.value();
        let tx = |which| self.txs.get(usize::from(which) % self.txs.len().max(1)).cloned();
        let futures = &mut self.futures;
        let got = match op {
            Op::Send { sender, waker } => {
                let Some(tx) = tx(sender) else { return };
                futures.begin(waker, send(tx, value))
            }
            Op::Reserve { sender, waker } => {
                let Some(tx) = tx(sender) else { return };
                futures.begin(waker, reserve(tx, value))
            }
            Op::ReserveMany { sender, count, waker } => {
                let Some(tx) = tx(sender) else { return };
                futures.begin(waker, reserve_many(tx, usize::from(count % 8), value))
            }
            Op::ReserveOwned { sender, waker } => {
                let Some(tx) = tx(sender) else { return };
                futures.begin(waker, reserve_owned(tx))
            }
            Op::SenderClosed { sender, waker } => {
                let Some(tx) = tx(sender) else { return };
                futures.begin(waker, closed(tx))
            }
            Op::Poll { which, waker } => futures.poll(which, waker),
            _ => {
                return log.note(
                    "given up",
                    &matches!(op, Op::GiveUp { which } if futures.give_up(which)),
                );
            }
        };
        self.keep(got, log);
    }

    fn try_send(&mut self, op: Op, log: &mut Log) {
        let (Op::TrySend { sender }
        | Op::TrySendMany { sender, .. }
        | Op::TryReserve { sender }
        | Op::TryReserveMany { sender, .. }
        | Op::TryReserveOwned { sender }) = op
        else {
            return;
        };
        let value = self.value();
        let Some(tx) = pick(&mut self.txs, sender) else { return };
        match op {
            Op::TrySendMany { count, .. } => {
                for _ in 0..30 + count % 64 {
                    log.note("sent", &tx.try_send(value.clone()).map_err(Refused::from));
                }
            }
            Op::TryReserve { .. } => {
                let permit = tx.try_reserve();
                log.note(
                    "reserved",
                    &permit.map(|permit| permit.send(value)).map_err(Refused::from),
                );
            }
            Op::TryReserveMany { count, .. } => {
                let permits = tx.try_reserve_many(usize::from(count % 8));
                let used = permits.map(|mut permits| {
                    permits.next().into_iter().for_each(|permit| permit.send(Value::new(value.0)));
                    permits.len()
                });
                log.note("reserved", &used.map_err(Refused::from));
            }
            Op::TryReserveOwned { .. } => {
                let permit = tx.clone().try_reserve_owned();
                log.note("reserved", &permit.is_ok());
                self.permits.extend(permit);
            }
            _ => log.note("sent", &tx.try_send(value).map_err(Refused::from)),
        }
    }

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
            Op::TryRecv => log.note("received", &rx.try_recv().map_err(Refused::from)),
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
            Op::TrySend { .. }
            | Op::TrySendMany { .. }
            | Op::TryReserve { .. }
            | Op::TryReserveMany { .. }
            | Op::TryReserveOwned { .. } => self.try_send(op, log),
            Op::Send { .. }
            | Op::Reserve { .. }
            | Op::ReserveMany { .. }
            | Op::ReserveOwned { .. }
            | Op::SenderClosed { .. }
            | Op::Poll { .. }
            | Op::GiveUp { .. } => self.wait(op, log),
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
            Op::PermitSend { which } => {
                let value = self.value();
                let tx = take(&mut self.permits, which).map(|permit| permit.send(value));
                self.txs.extend(tx);
            }
            Op::PermitRelease { which } => {
                let tx = take(&mut self.permits, which).map(OwnedPermit::release);
                self.txs.extend(tx);
            }
            Op::PermitDrop { which } => drop(take(&mut self.permits, which)),
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
            log.note("capacity", &(tx.capacity(), tx.max_capacity(), tx.is_closed()));
            log.note("senders", &(tx.strong_count(), tx.weak_count()));
        }
        if let Some(weak) = self.weaks.first() {
            log.note("senders", &(weak.strong_count(), weak.weak_count()));
        }
        if let Some(rx) = &self.rx {
            log.note("receiver", &(rx.len(), rx.is_empty(), rx.is_closed(), rx.capacity()));
            log.note("senders", &(rx.sender_strong_count(), rx.sender_weak_count()));
        }
        log.note("waiting", &(self.futures.len(), self.permits.len(), self.txs.len()));
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let (tx, rx) = mpsc::channel(1 + usize::from(script.size));
    let reacting = tx.downgrade();
    wakers::react(move |kind| {
        let Some(tx) = reacting.upgrade() else { return };
        match kind % 4 {
            0 => drop(tx.try_send(Value::new(1000))),
            1 => drop(tx.try_reserve()),
            2 => drop(tx.clone()),
            _ => drop(tx.try_reserve_many(2)),
        }
    });
    let mut run = Run {
        number: 0,
        txs: vec![tx],
        weaks: Vec::new(),
        rx: Some(rx),
        waker_slot: WakerSlot::counting_needed(),
        futures: PendingFutures::default(),
        permits: Vec::new(),
    };
    drive(script, log, |op, log| {
        run.number += 1;
        run.step(op, log);
        run.note_counts(log);
    });
}
