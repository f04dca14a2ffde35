use super::place::drive;
use super::subject::sync::SetOnce;
use crate::log::Log;
use crate::pending_futures::PendingFutures;
use crate::script::Script;
use crate::scripts::set_once::Op;
use crate::value::Value;
use crate::wakers;
use std::sync::Arc;

pub fn run(script: &Script<Op>, log: &mut Log) {
    let cell = Arc::new(match script.size % 8 {
        7 => SetOnce::new_with(Some(Value::new(7))),
        _ => SetOnce::new(),
    });
    let reacting = cell.clone();
    wakers::react(move |_| drop(reacting.set(Value::new(1000))));
    let mut futures = PendingFutures::default();
    let mut number = 0;
    drive(script, log, |op, log| {
        number += 1;
        let seen = match op {
            Op::Turn | Op::SpendBudget { .. } => None,
            Op::Wait { waker } => futures.begin(waker, async { cell.wait().await.0 }),
            Op::Poll { which, waker } => futures.poll(which, waker),
            Op::GiveUp { which } => Some(futures.give_up(which).into()),
            Op::Set => {
                log.note("set", &cell.set(Value::new(number)).map_err(|error| error.0));
                None
            }
        };
        log.note("seen", &seen);
        log.note("cell", &(cell.initialized(), cell.get().map(|value| value.0), futures.len()));
    });
}
