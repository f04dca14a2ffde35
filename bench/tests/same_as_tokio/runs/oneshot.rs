use super::subject::sync::oneshot::{self, error::TryRecvError};
use crate::support::{Log, Random, Rung, shown};
use std::future::Future;
use std::pin::Pin;
use std::task::Context;

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let (tx, rx) = oneshot::channel();
    let (mut tx, mut rx, mut is_over) = (Some(tx), Some(rx), false);
    let (mut tx_rung, mut rx_rung) = (Rung::default(), Rung::default());
    let step = |number: usize| {
        let outcome = match (random.below(9), &mut tx, &mut rx) {
            (0, Some(_), _) if random.one_in(2) => shown(&tx.take().map(|tx| tx.send(number))),
            (1, Some(_), _) if random.one_in(3) => shown(&tx.take().map(drop)),
            (2 | 3, Some(tx), _) => {
                if random.one_in(3) {
                    tx_rung = Rung::default();
                }
                shown(&tx.poll_closed(&mut Context::from_waker(&tx_rung.waker())))
            }
            (4, _, Some(_)) if random.one_in(3) => shown(&rx.take().map(drop)),
            (5, _, Some(rx)) if random.one_in(2) => shown(&rx.close()),
            (6, _, Some(rx)) => {
                let received = rx.try_recv();
                is_over |= received != Err(TryRecvError::Empty);
                shown(&received)
            }
            (7 | 8, _, Some(rx)) if !is_over => {
                if random.one_in(3) {
                    rx_rung = Rung::default();
                }
                let received = Pin::new(rx).poll(&mut Context::from_waker(&rx_rung.waker()));
                is_over = received.is_ready();
                shown(&received)
            }
            _ => String::new(),
        };
        let closed = tx.as_ref().map(|tx| tx.is_closed());
        let rest = rx.as_ref().map(|rx| (rx.is_terminated(), rx.is_empty()));
        // Whoever closes twice wakes twice in Tokio.
        format!("{outcome} | {closed:?} {rest:?} {} {}", tx_rung.count() > 0, rx_rung.count() > 0)
    };
    (0..14).map(step).collect()
}
