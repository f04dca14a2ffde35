//! Sleeps, intervals, timeouts.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use wakeful::time::{self, Instant, Interval, Sleep};
use wakeful_torture::rng::Rng;

use crate::basket::Basket;
use crate::pool::Pool;
use crate::shared::{Shared, pause, with_context};
use crate::values::{Value, call_hostile};

#[derive(Default)]
pub struct Timers {
    sleeps: Basket<Pin<Box<Sleep>>>,
    intervals: Basket<Interval>,
}

impl Shared for Timers {
    const NEEDS_RUNTIME: bool = true;

    fn make(_: &mut Rng) -> Self {
        Timers::default()
    }

    fn act(self: &Arc<Self>, pool: &mut Pool, rng: &mut Rng) {
        let wait = Duration::from_micros([0, 100, 1_000, 3_000, 10_000_000][rng.below(5)]);
        match rng.below(14) {
            0 | 1 => self.sleeps.put(Box::pin(time::sleep(wait))),
            2..5 => self.sleeps.with(rng, |sleep| _ = with_context(|cx| sleep.as_mut().poll(cx))),
            5 => self.sleeps.with(rng, |sleep| sleep.as_mut().reset(Instant::now() + wait)),
            6 => self.sleeps.drop_one(rng),
            7 => pool.add_direct(time::sleep(wait)),
            8 => pool.add(async move {
                let inner = async {
                    let value = Value::new();
                    pause().await;
                    call_hostile(&value);
                    std::future::pending::<()>().await;
                };
                _ = time::timeout(wait, inner).await;
            }),
            9 => self.intervals.put(time::interval(wait + Duration::from_micros(1))),
            10 | 11 => self.intervals.with(rng, |interval| {
                _ = with_context(|cx| interval.poll_tick(cx));
            }),
            12 => self.intervals.with(rng, Interval::reset),
            _ => self.intervals.drop_one(rng),
        }
    }

    fn clear(&self) {
        self.sleeps.clear();
        self.intervals.clear();
    }
}
