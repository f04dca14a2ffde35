use super::place::drive;
use super::subject::sync::Barrier;
use crate::log::Log;
use crate::pending_futures::PendingFutures;
use crate::script::Script;
use crate::scripts::barrier::Op;

pub fn run(script: &Script<Op>, log: &mut Log) {
    let barrier = Barrier::new(usize::from(script.size % 64));
    let mut futures = PendingFutures::default();
    drive(script, log, |op, log| {
        let leads = match op {
            Op::Turn | Op::SpendBudget { .. } => None,
            Op::Wait { waker } => futures.begin(waker, async { barrier.wait().await.is_leader() }),
            Op::Poll { which, waker } => futures.poll(which, waker),
            Op::GiveUp { which } => Some(futures.give_up(which)),
        };
        log.note("leads", &(leads, futures.len()));
    });
}
