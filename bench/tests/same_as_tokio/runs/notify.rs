use super::subject::sync::Notify;
use super::subject::sync::futures::OwnedNotified;
use crate::support::{Log, Random, Rung, shown};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Context;

pub fn run(seed: u64) -> Log {
    let mut random = Random::new(seed);
    let notify = Arc::new(Notify::new());
    let mut futures: Vec<(usize, Pin<Box<OwnedNotified>>, Rung)> = Vec::new();
    let step = |id| {
        let outcome = match random.below(11) {
            0..=2 => {
                futures.push((id, Box::pin(notify.clone().notified_owned()), Rung::default()));
                String::new()
            }
            3..=5 => {
                let fresh = random.one_in(3);
                let poll = |(id, future, rung): &mut (usize, Pin<Box<OwnedNotified>>, Rung)| {
                    if fresh {
                        *rung = Rung::default();
                    }
                    (*id, future.as_mut().poll(&mut Context::from_waker(&rung.waker())))
                };
                shown(&random.pick(&mut futures).map(poll))
            }
            6 => shown(
                &random.pick(&mut futures).map(|(id, future, _)| (*id, future.as_mut().enable())),
            ),
            7 => shown(&random.take(&mut futures).map(|(id, ..)| id)),
            8 => shown(&notify.notify_one()),
            9 => shown(&notify.notify_last()),
            _ => shown(&notify.notify_waiters()),
        };
        let woken: Vec<_> = futures.iter().map(|(id, _, rung)| (id, rung.count())).collect();
        format!("{outcome} | {woken:?}")
    };
    (0..80).map(step).collect()
}
