//! Channels that give each receiver a clone of each value.

use std::sync::Arc;
use wakeful::sync::broadcast::{self, Receiver, Sender, WeakSender};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::Shared;
use crate::values::Value;

#[derive(Default)]
pub struct Broadcast {
    senders: Basket<Sender<Value>>,
    receivers: Basket<Receiver<Value>>,
    weak: Basket<WeakSender<Value>>,
}

impl Shared for Broadcast {
    fn make(rng: &mut Rng) -> Self {
        let shared = Broadcast::default();
        shared.open(rng);
        shared
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(16) {
            0 if rng.chance(200) => self.open(rng),
            0..4 => self.senders.with(rng, |tx| drop(tx.send(Value::new()))),
            4..6 => self.receivers.with(rng, |rx| drop(rx.try_recv())),
            6..9 => {
                if let Some(mut rx) = self.receivers.take(rng) {
                    let shared = self.clone();
                    pool.add(async move {
                        let value = rx.recv().await;
                        shared.receivers.put(rx);
                        drop(value);
                    });
                }
            }
            9 => self.senders.with(rng, |tx| self.receivers.put(tx.subscribe())),
            10 => self.receivers.with(rng, |rx| self.receivers.put(rx.resubscribe())),
            11 => self.senders.with(rng, |tx| {
                let tx = tx.clone();
                pool.add(async move { tx.closed().await });
            }),
            12 => self.senders.with(rng, |tx| self.weak.put(tx.downgrade())),
            13 => self.weak.with(rng, |weak| {
                weak.upgrade().into_iter().for_each(|tx| self.senders.put(tx));
            }),
            14 => self.receivers.drop_one(rng),
            _ if rng.chance(300) => self.senders.drop_one(rng),
            _ => self.senders.with(rng, |tx| self.senders.put(tx.clone())),
        }
    }

    fn clear(&self) {
        self.weak.clear();
        self.receivers.clear();
        self.senders.clear();
    }
}

impl Broadcast {
    fn open(&self, rng: &mut Rng) {
        let (tx, rx) = broadcast::channel(1 + rng.below(6));
        self.senders.put(tx);
        self.receivers.put(rx);
    }
}
