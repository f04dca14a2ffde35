//! Notifications.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use wakeful::sync::Notify;
use wakeful::sync::futures::OwnedNotified;
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, with_context};

pub struct Notification {
    notify: Arc<Notify>,
    waiting: Basket<Pin<Box<OwnedNotified>>>,
}

impl Shared for Notification {
    fn make(_: &mut Rng) -> Self {
        Notification { notify: Arc::new(Notify::new()), waiting: Basket::default() }
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        match rng.below(12) {
            0 => self.notify.notify_one(),
            1 => self.notify.notify_last(),
            2 => self.notify.notify_waiters(),
            3 | 4 => pool.add_direct(self.notify.clone().notified_owned()),
            5 | 6 => {
                let notify = self.notify.clone();
                pool.add(async move {
                    notify.notified().await;
                    notify.notify_one();
                });
            }
            7 | 8 => self.waiting.put(Box::pin(self.notify.clone().notified_owned())),
            9 => self.waiting.with(rng, |notified| _ = notified.as_mut().enable()),
            10 => self.waiting.with(rng, |notified| {
                _ = with_context(|cx| notified.as_mut().poll(cx));
            }),
            _ => self.waiting.drop_one(rng),
        }
    }

    fn clear(&self) {
        self.waiting.clear();
    }
}
