use super::place::drive;
use super::subject::sync::oneshot::{self, Receiver, Sender, error::TryRecvError};
use crate::log::Log;
use crate::script::Script;
use crate::scripts::oneshot::Op;
use crate::value::Value;
use crate::wakers::{self, WakerSlot};
use std::pin::{Pin, pin};

struct Run {
    number: u64,
    tx: Option<Sender<Value>>,
    rx: Option<Receiver<Value>>,
    tx_waker: WakerSlot,
    rx_waker: WakerSlot,
}

impl Run {
    fn new() -> Run {
        let (tx, rx) = oneshot::channel();
        // Tokio wakes the sender twice if a receiver is closed and then dropped.
        let (tx_waker, rx_waker) = (WakerSlot::counting_needed(), WakerSlot::counting_needed());
        Run { number: 0, tx: Some(tx), rx: Some(rx), tx_waker, rx_waker }
    }

    fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn | Op::SpendBudget { .. } => {}
            Op::New => *self = Run { number: self.number, ..Run::new() },
            Op::Send => {
                let value = Value::new(self.number);
                log.note("sent", &self.tx.take().map(|tx| tx.send(value)));
            }
            Op::DropSender => self.tx = None,
            Op::PollClosed { waker } => {
                let Some(tx) = &mut self.tx else { return };
                log.note("closed", &self.tx_waker.poll(waker, |cx| tx.poll_closed(cx)));
            }
            Op::Closed { waker } => {
                let Some(tx) = &mut self.tx else { return };
                log.note("closed", &self.tx_waker.poll(waker, |cx| pin!(tx.closed()).poll(cx)));
            }
            Op::DropReceiver => self.rx = None,
            Op::Close => self.rx.iter_mut().for_each(Receiver::close),
            Op::TryRecv => {
                let received = self.rx.as_mut().map(Receiver::try_recv);
                let is_empty = |error| error == TryRecvError::Empty;
                log.note("received", &received.map(|received| received.map_err(is_empty)));
            }
            Op::Poll { waker } => {
                let Some(rx) = &mut self.rx else { return };
                let polled = self.rx_waker.poll(waker, |cx| Pin::new(rx).poll(cx));
                log.note("received", &polled.map(Result::ok));
            }
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    // No reaction: there is only one handle on each side, and the operation that calls the waker is
    // using it.
    wakers::react(|_| {});
    let mut run = Run::new();
    drive(script, log, |op, log| {
        run.number += 1;
        run.step(op, log);
        log.note("sender", &run.tx.as_ref().map(Sender::is_closed));
        log.note("receiver", &run.rx.as_ref().map(|rx| (rx.is_terminated(), rx.is_empty())));
    });
}
