//! Bounded and unbounded channels with many senders.

use std::sync::Arc;
use wakeful::sync::mpsc::{
    self, OwnedPermit, Receiver, Sender, UnboundedReceiver, UnboundedSender, WeakSender,
};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, pause, with_context};
use crate::values::Value;
use crate::world::discard;

#[derive(Default)]
pub struct Mpsc {
    senders: Basket<Sender<Value>>,
    receivers: Basket<Receiver<Value>>,
    weak: Basket<WeakSender<Value>>,
    permits: Basket<OwnedPermit<Value>>,
    unbounded_senders: Basket<UnboundedSender<Value>>,
    unbounded_receivers: Basket<UnboundedReceiver<Value>>,
}

impl Shared for Mpsc {
    fn make(rng: &mut Rng) -> Self {
        let shared = Mpsc::default();
        shared.open(rng);
        shared
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(20) {
            0 => self.open(rng),
            1..8 => self.send(pool, rng),
            8..13 => self.receive(pool, rng),
            13 | 14 => self.permit(pool, rng),
            15 | 16 => self.handles(rng),
            _ => self.unbounded(pool, rng),
        }
    }

    fn clear(&self) {
        self.permits.clear();
        self.senders.clear();
        self.receivers.clear();
        self.weak.clear();
        self.unbounded_senders.clear();
        self.unbounded_receivers.clear();
    }
}

impl Mpsc {
    fn open(&self, rng: &mut Rng) {
        let (tx, rx) = mpsc::channel(1 + rng.below(5));
        self.senders.put(tx);
        self.receivers.put(rx);
        let (tx, rx) = mpsc::unbounded_channel();
        self.unbounded_senders.put(tx);
        self.unbounded_receivers.put(rx);
    }

    fn send(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(5) {
            0 | 1 => self.senders.with(rng, |tx| drop(tx.try_send(Value::new()))),
            2 | 3 => self.senders.with(rng, |tx| {
                let tx = tx.clone();
                pool.add(async move { drop(tx.send(Value::new()).await) });
            }),
            _ => self.senders.with(rng, |tx| {
                let tx = tx.clone();
                pool.add(async move { tx.closed().await });
            }),
        }
    }

    fn receive(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(7) {
            0 => self.receivers.with(rng, |rx| drop(rx.try_recv())),
            1 => self.receivers.with(rng, |rx| drop(with_context(|cx| rx.poll_recv(cx)))),
            2 => self.receivers.with(rng, |rx| {
                let mut values = Vec::new();
                _ = with_context(|cx| rx.poll_recv_many(cx, &mut values, 4));
                values.into_iter().for_each(discard);
            }),
            3 => {
                if let Some(mut rx) = self.receivers.take(rng) {
                    let shared = self.clone();
                    pool.add(async move {
                        let value = rx.recv().await;
                        shared.receivers.put(rx);
                        drop(value);
                    });
                }
            }
            4 => {
                if let Some(mut rx) = self.receivers.take(rng) {
                    let shared = self.clone();
                    pool.add(async move {
                        let mut values = Vec::with_capacity(1);
                        rx.recv_many(&mut values, 3).await;
                        shared.receivers.put(rx);
                        drop(values);
                    });
                }
            }
            5 if rng.chance(200) => self.receivers.with(rng, Receiver::close),
            _ => self.receivers.with(rng, |rx| _ = (rx.len(), rx.is_empty(), rx.is_closed())),
        }
    }

    fn permit(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(5) {
            0 => {
                if let Some(tx) = self.senders.take(rng) {
                    let shared = self.clone();
                    self.senders.put(tx.clone());
                    pool.add(async move {
                        if let Ok(permit) = tx.reserve_owned().await {
                            shared.permits.put(permit);
                        }
                    });
                }
            }
            1 => {
                if let Some(permit) = self.permits.take(rng) {
                    match rng.below(3) {
                        0 => discard(permit),
                        1 => drop(permit.send(Value::new())),
                        _ => drop(permit.release()),
                    }
                }
            }
            2 => self.senders.with(rng, |tx| {
                let tx = tx.clone();
                pool.add(async move {
                    if let Ok(permit) = tx.reserve().await {
                        pause().await;
                        permit.send(Value::new());
                    }
                });
            }),
            3 => self.senders.with(rng, |tx| {
                let tx = tx.clone();
                pool.add(async move {
                    if let Ok(mut permits) = tx.reserve_many(2).await {
                        permits.next().into_iter().for_each(|permit| permit.send(Value::new()));
                        pause().await;
                    }
                });
            }),
            _ => self.senders.with(rng, |tx| {
                if let Ok(permit) = tx.try_reserve() {
                    permit.send(Value::new());
                }
            }),
        }
    }

    fn handles(&self, rng: &mut Rng) {
        match rng.below(5) {
            0 => self.senders.with(rng, |tx| self.senders.put(tx.clone())),
            1 => self.senders.with(rng, |tx| self.weak.put(tx.downgrade())),
            2 => self
                .weak
                .with(rng, |weak| weak.upgrade().into_iter().for_each(|tx| self.senders.put(tx))),
            3 => self.senders.drop_one(rng),
            _ if rng.chance(200) => self.receivers.drop_one(rng),
            _ => self.weak.drop_one(rng),
        }
    }

    fn unbounded(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(8) {
            0 | 1 => self.unbounded_senders.with(rng, |tx| drop(tx.send(Value::new()))),
            2 => self.unbounded_receivers.with(rng, |rx| drop(rx.try_recv())),
            3 | 4 => {
                if let Some(mut rx) = self.unbounded_receivers.take(rng) {
                    let shared = self.clone();
                    pool.add(async move {
                        let value = rx.recv().await;
                        shared.unbounded_receivers.put(rx);
                        drop(value);
                    });
                }
            }
            5 => self.unbounded_senders.with(rng, |tx| {
                let tx = tx.clone();
                pool.add(async move { tx.closed().await });
            }),
            6 if rng.chance(200) => self.unbounded_receivers.drop_one(rng),
            7 if rng.chance(200) => self.unbounded_senders.drop_one(rng),
            _ => self.unbounded_receivers.with(rng, |rx| {
                drop(with_context(|cx| rx.poll_recv(cx)));
            }),
        }
    }
}
