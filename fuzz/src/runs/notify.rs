use super::place::drive;
use super::subject::sync::Notify;
use super::subject::sync::futures::{Notified, OwnedNotified};
use crate::log::Log;
use crate::pending_futures::{WAKE_BATCH, pick, take, waiting_max};
use crate::script::Script;
use crate::scripts::notify::Op;
use crate::wakers::{self, WakerSlot};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

enum Future<'a> {
    Lent(Pin<Box<Notified<'a>>>),
    Own(Pin<Box<OwnedNotified>>),
}

struct Waiting<'a> {
    future: Future<'a>,
    waker_slot: WakerSlot,
}

impl<'a> Waiting<'a> {
    fn lent(notify: &'a Notify) -> Self {
        Waiting {
            future: Future::Lent(Box::pin(notify.notified())),
            waker_slot: WakerSlot::default(),
        }
    }

    fn own(notify: &Arc<Notify>) -> Self {
        let future = notify.clone().notified_owned();
        Waiting { future: Future::Own(Box::pin(future)), waker_slot: WakerSlot::default() }
    }

    fn poll(&mut self, waker: u8) -> Poll<()> {
        let future = &mut self.future;
        self.waker_slot.poll(waker, |cx| match future {
            Future::Lent(future) => future.as_mut().poll(cx),
            Future::Own(future) => future.as_mut().poll(cx),
        })
    }

    fn enable(&mut self) -> bool {
        match &mut self.future {
            Future::Lent(future) => future.as_mut().enable(),
            Future::Own(future) => future.as_mut().enable(),
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let notify = Arc::new(Notify::new());
    let waiting_max = waiting_max(script.size);
    let reacting = notify.clone();
    wakers::react(move |kind| match kind % 4 {
        _ if waiting_max > WAKE_BATCH => {}
        0 => reacting.notify_one(),
        1 => reacting.notify_waiters(),
        2 => reacting.notify_last(),
        _ => drop(Waiting::lent(&reacting).poll(1)),
    });
    let mut waiting: Vec<Waiting<'_>> = Vec::new();
    drive(script, log, |op, log| match op {
        Op::Turn | Op::SpendBudget { .. } => {}
        Op::Wait { .. } | Op::WaitMany { .. } | Op::Notified | Op::NotifiedOwned
            if waiting.len() >= waiting_max => {}
        Op::Wait { waker } => {
            waiting.push(Waiting::lent(&notify));
            log.note("polled", &waiting.last_mut().map(|last| last.poll(waker)));
        }
        Op::Notified => waiting.push(Waiting::lent(&notify)),
        Op::NotifiedOwned => waiting.push(Waiting::own(&notify)),
        Op::WaitMany { count } => {
            for _ in 0..(30 + usize::from(count % 16)).min(waiting_max - waiting.len()) {
                waiting.push(Waiting::lent(&notify));
                log.note("polled", &waiting.last_mut().map(|last| last.poll(1)));
            }
        }
        Op::Poll { which, waker } => {
            log.note("polled", &pick(&mut waiting, which).map(|one| one.poll(waker)));
        }
        Op::Enable { which } => {
            log.note("enabled", &pick(&mut waiting, which).map(Waiting::enable))
        }
        Op::Drop { which } => log.note("dropped", &take(&mut waiting, which).is_some()),
        Op::NotifyOne => notify.notify_one(),
        Op::NotifyLast => notify.notify_last(),
        Op::NotifyWaiters => notify.notify_waiters(),
    });
    drop(waiting);
    log.note("references", &Arc::strong_count(&notify));
}
