//! Channels for one value.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use wakeful::sync::oneshot::{self, Receiver, Sender};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, with_context};
use crate::values::Value;
use crate::world::discard;

#[derive(Default)]
pub struct Oneshot {
    senders: Basket<Sender<Value>>,
    receivers: Basket<Receiver<Value>>,
}

impl Shared for Oneshot {
    fn make(_: &mut Rng) -> Self {
        Oneshot::default()
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(12) {
            0..3 => {
                let (tx, rx) = oneshot::channel();
                self.senders.put(tx);
                self.receivers.put(rx);
            }
            3 => {
                if let Some(tx) = self.senders.take(rng) {
                    discard(tx.send(Value::new()));
                }
            }
            4 => self.receivers.with(rng, |rx| drop(rx.try_recv())),
            5 => self.receivers.with(rng, Receiver::close),
            6 => {
                if let Some(mut tx) = self.senders.take(rng) {
                    pool.add(async move {
                        tx.closed().await;
                        drop(tx.send(Value::new()));
                    });
                }
            }
            7 => {
                if let Some(rx) = self.receivers.take(rng)
                    && !rx.is_terminated()
                {
                    pool.add(async move { discard(rx.await) });
                }
            }
            8 => self.senders.drop_one(rng),
            9 => self.receivers.drop_one(rng),
            10 => self.senders.with(rng, |tx| _ = with_context(|cx| tx.poll_closed(cx))),
            _ => self.receivers.with(rng, |rx| {
                if !rx.is_terminated() {
                    drop(with_context(|cx| Pin::new(rx).poll(cx)));
                }
            }),
        }
    }

    fn clear(&self) {
        self.senders.clear();
        self.receivers.clear();
    }
}
