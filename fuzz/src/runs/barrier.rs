use super::place::drive;
use super::subject::sync::Barrier;
use crate::line::Line;
use crate::log::Log;
use crate::script::Script;
use crate::scripts::barrier::Op;

pub fn run(script: &Script<Op>, log: &mut Log) {
    let barrier = Barrier::new(usize::from(script.size % 64));
    let mut line = Line::default();
    drive(script, log, |op, log| {
        let leads = match op {
            Op::Turn | Op::SpendBudget { .. } => None,
            Op::Wait { waker } => line.begin(waker, async { barrier.wait().await.is_leader() }),
            Op::Poll { which, waker } => line.poll(which, waker),
            Op::GiveUp { which } => Some(line.give_up(which)),
        };
        log.note("leads", &(leads, line.len()));
    });
}
