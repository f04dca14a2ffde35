//! Channels that keep the last value.

use std::sync::Arc;
use wakeful::sync::watch::{self, Receiver, Sender};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::Shared;
use crate::values::{Value, call_hostile};
use crate::world::discard;

#[derive(Default)]
pub struct Watch {
    senders: Basket<Sender<Value>>,
    receivers: Basket<Receiver<Value>>,
}

impl Shared for Watch {
    fn make(_: &mut Rng) -> Self {
        let shared = Watch::default();
        shared.open();
        shared
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(20) {
            0 if rng.chance(200) => self.open(),
            0..7 => self.send(rng),
            7..11 => self.look(rng),
            11..15 => self.wait(pool, rng),
            15 => self.senders.with(rng, |tx| self.receivers.put(tx.subscribe())),
            16 => self.receivers.with(rng, |rx| self.receivers.put(rx.clone())),
            17 => self.receivers.drop_one(rng),
            18 if rng.chance(200) => self.senders.drop_one(rng),
            _ => self.senders.with(rng, |tx| self.senders.put(tx.clone())),
        }
    }

    fn clear(&self) {
        self.receivers.clear();
        self.senders.clear();
    }
}

/// Drops no value while the channel's lock is held: the drop of a value may call the channel, which
/// would take the lock again.
impl Watch {
    fn open(&self) {
        let (tx, rx) = watch::channel(Value::new());
        self.senders.put(tx);
        self.receivers.put(rx);
    }

    fn send(&self, rng: &mut Rng) {
        let modified = rng.chance(500);
        match rng.below(5) {
            0 | 1 => self.senders.with(rng, |tx| drop(tx.send(Value::new()))),
            2 => self.senders.with(rng, |tx| drop(tx.send_replace(Value::new()))),
            3 => self.senders.with(rng, |tx| {
                let mut value = Value::new();
                tx.send_modify(|current| {
                    std::mem::swap(current, &mut value);
                    call_hostile(current);
                });
            }),
            _ => self.senders.with(rng, |tx| {
                tx.send_if_modified(|current| {
                    call_hostile(current);
                    modified
                });
            }),
        }
    }

    fn look(&self, rng: &mut Rng) {
        match rng.below(5) {
            0 => self.receivers.with(rng, |rx| {
                let value = rx.borrow().clone();
                drop(value);
            }),
            1 => self.receivers.with(rng, |rx| {
                let value = rx.borrow_and_update().clone();
                drop(value);
            }),
            2 => self.senders.with(rng, |tx| call_hostile(&tx.borrow())),
            3 => self.receivers.with(rng, Receiver::mark_changed),
            _ => self.receivers.with(rng, |rx| drop(rx.has_changed())),
        }
    }

    fn wait(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let kind = rng.below(3);
        if kind == 2 {
            return self.senders.with(rng, |tx| {
                let tx = tx.clone();
                pool.add(async move { tx.closed().await });
            });
        }
        let Some(mut rx) = self.receivers.take(rng) else { return };
        let shared = self.clone();
        pool.add(async move {
            if kind == 0 {
                discard(rx.changed().await);
            } else {
                let mut looks = 0;
                let wanted = |value: &Value| {
                    call_hostile(value);
                    looks += 1;
                    looks == 2
                };
                let found = rx.wait_for(wanted).await.map(|value| value.look());
                discard(found);
            }
            shared.receivers.put(rx);
        });
    }
}
