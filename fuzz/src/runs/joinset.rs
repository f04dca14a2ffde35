use super::child::{Output, Shared, child};
use super::place::{drive_async, runtime};
use super::subject;
use super::subject::task::coop::has_budget_remaining;
use super::subject::task::{Id, JoinError, JoinHandle, JoinSet, LocalSet, yield_now};
use super::subject::time::{Instant, sleep};
use crate::events;
use crate::lengths::short_length;
use crate::log::Log;
use crate::pending_futures::{pick, take};
use crate::script::{Place, Script};
use crate::scripts::joinset::Op;
use crate::wakers::WakerSlot;
use std::collections::HashMap;
use std::pin::Pin;
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

struct Run {
    place: Place,
    shared: Arc<Shared>,
    set: JoinSet<Output>,
    waker_slot: WakerSlot,
    handles: Vec<(JoinHandle<Output>, WakerSlot)>,
    /// The number of the task for each id, because ids differ between the libraries.
    tasks: HashMap<Id, u32>,
}

impl Run {
    fn next_child(&mut self, kind: u8, count: u8) -> (u32, impl Future<Output = Output> + use<>) {
        let task = self.tasks.len() as u32;
        (task, child(task, self.shared.clone(), kind, count))
    }

    fn spawn(&mut self, kind: u8, count: u8) {
        let (task, child) = self.next_child(kind, count);
        let handle = match self.place {
            Place::InLocalSet => self.set.spawn_local(child),
            _ => self.set.spawn(child),
        };
        self.tasks.insert(handle.id(), task);
        self.shared.add_handle(handle);
    }

    fn spawn_alone(&mut self, kind: u8, count: u8) {
        let (task, child) = self.next_child(kind, count);
        let handle = match self.place {
            Place::InLocalSet => subject::task::spawn_local(child),
            _ => subject::task::spawn(child),
        };
        self.tasks.insert(handle.id(), task);
        self.shared.add_handle(handle.abort_handle());
        self.handles.push((handle, WakerSlot::default()));
    }

    /// Returns the number of the task, and whether it failed.
    fn with_id(&self, joined: Result<(Id, Output), JoinError>) -> (Option<u32>, Option<Failed>) {
        match joined {
            Ok((id, _)) => (self.tasks.get(&id).copied(), None),
            Err(error) => (self.tasks.get(&error.id()).copied(), Some(error.into())),
        }
    }

    fn join(&mut self, op: Op, log: &mut Log) {
        let Run { set, waker_slot, .. } = self;
        match op {
            Op::JoinNext { waker } => {
                let polled = waker_slot.poll(waker, |cx| set.poll_join_next(cx));
                log.note(
                    "joined",
                    &polled.map(|next| next.map(|joined| joined.map_err(Failed::from))),
                );
            }
            Op::JoinNextWithId { waker } => {
                let polled = waker_slot.poll(waker, |cx| set.poll_join_next_with_id(cx));
                log.note("joined", &polled.map(|next| next.map(|joined| self.with_id(joined))));
            }
            Op::TryJoinNext => {
                let next = set.try_join_next();
                log.note("joined", &next.map(|joined| joined.map_err(Failed::from)));
            }
            _ => {
                let next = set.try_join_next_with_id();
                log.note("joined", &next.map(|joined| self.with_id(joined)));
            }
        }
    }

    fn handle(&mut self, op: Op, log: &mut Log) {
        match op {
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
            _ => drop(take(&mut self.handles, which_of(op))),
        }
    }

    async fn step(&mut self, op: Op, log: &mut Log) {
        match op {
            Op::Turn => yield_now().await,
            Op::SpendBudget { .. } => {}
            Op::Spawn { kind, count } => self.spawn(kind, count),
            Op::SpawnAlone { kind, count } => self.spawn_alone(kind, count),
            // If `join_next` runs out of budget, Tokio puts the task that it found at the end, so
            // that other tasks are returned first.
            Op::JoinNext { .. }
            | Op::JoinNextWithId { .. }
            | Op::TryJoinNext
            | Op::TryJoinNextWithId
                if !has_budget_remaining() => {}
            Op::JoinNext { .. }
            | Op::JoinNextWithId { .. }
            | Op::TryJoinNext
            | Op::TryJoinNextWithId => self.join(op, log),
            Op::Abort { which } => self.shared.abort(which),
            Op::AbortAll => self.set.abort_all(),
            Op::DetachAll => self.set.detach_all(),
            Op::Shutdown => {
                // From now on, the step itself waits for the tasks.
                self.waker_slot.forget_need();
                self.set.shutdown().await;
            }
            Op::DropSet => self.set = JoinSet::new(),
            Op::PollHandle { .. } | Op::AbortHandle { .. } | Op::DropHandle { .. } => {
                self.handle(op, log);
            }
            Op::Signal { which } => self.shared.signal(which).notify_one(),
            Op::Wait { length } => sleep(short_length(length)).await,
        }
    }
}

fn which_of(op: Op) -> u8 {
    match op {
        Op::DropHandle { which } => which,
        _ => 0,
    }
}

async fn drive(script: &Script<Op>, log: &mut Log) {
    let start = Instant::now();
    let mut run = Run {
        place: script.place,
        shared: Arc::default(),
        set: JoinSet::new(),
        waker_slot: WakerSlot::counting_needed(),
        handles: Vec::new(),
        tasks: HashMap::new(),
    };
    let step = async |op, log: &mut Log| {
        run.step(op, log).await;
        log.note("events", &events::take());
        log.note("finished", &run.shared.finished());
        log.note("set", &(run.set.len(), run.set.is_empty(), start.elapsed()));
    };
    drive_async(script, log, step).await;
}

pub fn run(script: &Script<Op>, log: &mut Log) {
    let runtime = runtime();
    match script.place {
        Place::InLocalSet => LocalSet::new().block_on(&runtime, drive(script, log)),
        _ => runtime.block_on(drive(script, log)),
    }
    drop(runtime);
    let mut left = events::take();
    left.sort_unstable();
    log.note("tasks at the end", &left);
}
