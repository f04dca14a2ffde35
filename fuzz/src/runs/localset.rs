use super::child::{Output, Shared, child};
use super::place::drive;
use super::subject::task::{JoinError, JoinHandle, LocalSet, spawn_local};
use crate::events;
use crate::log::Log;
use crate::pending_futures::{PendingFutures, pick, take};
use crate::script::Script;
use crate::scripts::localset::Op;
use crate::wakers::WakerSlot;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

#[derive(Debug, Hash)]
enum Failed {
    Cancelled,
    Panicked,
}

impl From<JoinError> for Failed {
    fn from(error: JoinError) -> Self {
        if error.is_cancelled() { Failed::Cancelled } else { Failed::Panicked }
    }
}

struct Run<'a> {
    shared: Arc<Shared>,
    set: Rc<LocalSet>,
    waker_slot: WakerSlot,
    untils: PendingFutures<'a, ()>,
    handles: Vec<(JoinHandle<Output>, WakerSlot)>,
    tasks: u32,
}

async fn run_until(set: Rc<LocalSet>, shared: Arc<Shared>, which: u8) {
    set.run_until(shared.signal(which).notified()).await;
}

impl Run<'_> {
    fn next_child(&mut self, kind: u8, count: u8) -> impl Future<Output = Output> + use<> {
        self.tasks += 1;
        child(self.tasks, self.shared.clone(), kind, count)
    }

    fn keep(&mut self, handle: JoinHandle<Output>) {
        self.shared.add_handle(handle.abort_handle());
        self.handles.push((handle, WakerSlot::default()));
    }

    fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn | Op::SpendBudget { .. } => {}
            Op::Spawn { kind, count } => {
                let child = self.next_child(kind, count);
                let handle = self.set.spawn_local(child);
                self.keep(handle);
            }
            Op::SpawnEntered { kind, count } => {
                let child = self.next_child(kind, count);
                let entered = self.set.enter();
                let handle = spawn_local(child);
                drop(entered);
                self.keep(handle);
            }
            Op::PollSet { waker } => {
                // While a `run_until` holds the set too, only that can poll it.
                let Some(set) = Rc::get_mut(&mut self.set) else { return };
                log.note("set", &self.waker_slot.poll(waker, |cx| Pin::new(set).poll(cx)));
            }
            Op::RunUntil { which, waker } => {
                let until = run_until(self.set.clone(), self.shared.clone(), which);
                log.note("until", &self.untils.begin(waker, until));
            }
            Op::PollRunUntil { which, waker } => {
                log.note("until", &self.untils.poll(which, waker));
            }
            Op::DropRunUntil { which } => log.note("given up", &self.untils.give_up(which)),
            Op::DropSet => {
                self.set = Rc::new(LocalSet::new());
                // Tasks of the old set signal others when they are dropped, in an order that is not
                // promised.
                self.shared = Arc::default();
            }
            Op::PollHandle { which, waker } => {
                let Some((handle, waker_slot)) = pick(&mut self.handles, which) else { return };
                let polled = waker_slot.poll(waker, |cx| Pin::new(handle).poll(cx));
                let is_ready = polled.is_ready();
                log.note("joined", &polled.map(|joined| joined.map_err(Failed::from)));
                if is_ready {
                    drop(take(&mut self.handles, which));
                }
            }
            Op::AbortHandle { which } => {
                let handle = pick(&mut self.handles, which);
                handle.into_iter().for_each(|(handle, _)| handle.abort());
            }
            Op::DropHandle { which } => drop(take(&mut self.handles, which)),
            Op::Signal { which } => self.shared.signal(which).notify_one(),
        }
    }
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let mut run = Run {
        shared: Arc::default(),
        set: Rc::new(LocalSet::new()),
        waker_slot: WakerSlot::counting_needed(),
        untils: PendingFutures::counting_needed(),
        handles: Vec::new(),
        tasks: 0,
    };
    drive(script, log, |op, log| {
        run.step(op, log);
        log.note("events", &events::take());
        log.note("finished", &run.shared.finished());
    });
    drop(run);
    let mut left = events::take();
    left.sort_unstable();
    log.note("tasks at the end", &left);
}
