//! Takes a census of the process: looks at every task twice, asks some, and makes a [`Snapshot`].

use super::snapshot::{Actor, ActorKind, ActorState, Flavor, Holdings, Snapshot, WorkerState};
use super::sort::sort_by_key;
use super::walk::{FoundTask, Walk};
use crate::scheduler::SchedulerHandle;
use std::fs;
use std::mem::take;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wakeful_base::threads::{self, BlockOn, ThreadRecord, ThreadRole};
use wakeful_base::ticks;
use wakeful_base::waiting::{Leaves, WaitKind, Waits, holdings};
use wakeful_task::Phase;

/// How long a census waits for threads that may be stuck, or only wait for a CPU.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// For workers, driving threads and polled `LocalSet`s to list their tasks.
    walk: Duration,
    /// For asked actors to be polled.
    pub(super) answers: Duration,
}

impl Patience {
    /// For a census that a person has asked for. On a busy machine it should not miss anything; if
    /// all that can be stuck is stuck, it should still take less than a second in all.
    const ONCE: Patience =
        Patience { walk: Duration::from_millis(150), answers: Duration::from_millis(250) };

    /// For one census of many: what it misses is seen by the next one.
    const OFTEN: Patience =
        Patience { walk: Duration::from_millis(50), answers: Duration::from_millis(50) };
}

/// What the last census saw, sorted by id: the marks that it left in notes are only of use together
/// with this. One census at a time: each reads the number of references, and takes some itself.
static SEEN: Mutex<Vec<SeenActor>> = Mutex::new(Vec::new());

/// Takes censuses. All observers of the process know together since when actors have stood still.
pub(crate) struct Observer {
    /// Empty between censuses. A panic leaves [`SEEN`] empty, and then all actors are new.
    seen: Vec<SeenActor>,
    /// Holders of permits and users of channels have been recorded since before the first runtime.
    is_recorded_from_start: bool,
}

/// An actor that waited at the last census.
pub(super) struct SeenActor {
    id: u64,
    pub(super) since: Instant,
    pub(super) last: (WaitKind, u64),
    /// What it answered when it was asked, if it has not been polled since.
    pub(super) answer: Option<Leaves>,
}

/// Which actors to ask for leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask<'a> {
    None,
    /// Those that wait for other tasks (locks, channels, ends of tasks), and have not answered
    /// since their last poll. The snapshot has the earlier answers of the others.
    Suspects,
    /// The actors with these ids.
    These(&'a [u64]),
    /// So many of all that wait, spread evenly.
    Spread(usize),
    /// Some of each group.
    All,
}

impl Observer {
    /// Creates an observer.
    pub(crate) fn new(is_recorded_from_start: bool) -> Observer {
        Observer { seen: Vec::new(), is_recorded_from_start }
    }

    /// Takes a census of `runtimes` and all `LocalSet`s and threads in `block_on`, over a time of
    /// at least `gap`. Without a gap, it only sees what stood still since the last census.
    pub(crate) fn observe(
        &mut self,
        runtimes: &[SchedulerHandle],
        gap: Duration,
        ask: Ask<'_>,
    ) -> Snapshot {
        let mut seen = SEEN.lock().unwrap_or_else(PoisonError::into_inner);
        self.seen = take(&mut *seen);
        let patience = if gap.is_zero() { Patience::OFTEN } else { Patience::ONCE };
        let (mut before, mut restless) = (None, Vec::new());
        if !gap.is_zero() {
            let mut first = Walk::over(runtimes, patience.walk);
            self.update(&first);
            restless = first.find_restless(gap);
            // The census counts references, so it must have one to each task only.
            first.tasks.clear();
            before = Some(first);
        }
        let mut after = Walk::over(runtimes, patience.walk);
        self.update(&after);
        let mut snapshot = self.snapshot(before.as_ref(), &mut after, &restless);
        if ask != Ask::None {
            self.ask(&mut snapshot, &after, ask, patience);
        }
        *seen = take(&mut self.seen);
        snapshot
    }

    /// Takes a census for a tool that watches the process: one look, which polls no task and does
    /// not wait for threads that are stuck.
    pub(crate) fn glance(&mut self, runtimes: &[SchedulerHandle]) -> Snapshot {
        self.observe(runtimes, Duration::ZERO, Ask::None)
    }

    pub(super) fn seen_mut(&mut self, id: u64) -> Option<&mut SeenActor> {
        let at = self.seen.binary_search_by_key(&id, |seen| seen.id).ok()?;
        self.seen.get_mut(at)
    }

    /// Notes which actors have stood still since the last walk.
    fn update(&mut self, walk: &Walk) {
        let mut now = Vec::with_capacity(self.seen.len());
        for found in &walk.tasks {
            if found.task.phase() != Phase::Complete {
                self.note(&mut now, found.id(), found.task.slot().look(), walk.at);
            }
        }
        for record in threads::all() {
            if record.block_on() == BlockOn::Pending {
                self.note(&mut now, record.slot().id(), record.slot().look(), walk.at);
            }
            // A job has an id of its own, so it is the same one if it was seen before.
            let job = Waits { kind: WaitKind::Unknown, detail: 0, is_seen: true };
            if let Some((id, _)) = record.job() {
                self.note(&mut now, id, Some(job), walk.at);
            }
        }
        sort_by_key(&mut now, |seen| seen.id);
        self.seen = now;
    }

    /// Notes an actor in `now`. Takes its answer from what was seen before.
    fn note(&mut self, now: &mut Vec<SeenActor>, id: u64, waits: Option<Waits>, at: Instant) {
        let Some(waits) = waits else { return };
        let last = (waits.kind, waits.detail);
        let mut seen = SeenActor { id, since: at, last, answer: None };
        if let (true, Some(before)) = (waits.is_seen, self.seen_mut(id)) {
            (seen.since, seen.answer) = (before.since, take(&mut before.answer));
        }
        now.push(seen);
    }

    /// Returns what is recorded of permits and channels.
    fn holdings(&self) -> Holdings {
        if !self.is_recorded_from_start {
            return Holdings::default();
        }
        let recorded = holdings::read();
        Holdings {
            are_complete: !recorded.lacks_permits && !recorded.lacks_channels,
            permits: recorded.permits,
            channels: recorded.channels,
            refilled: Some(recorded.refilled),
        }
    }

    /// Makes a snapshot of what the last walk found, apart from the tasks themselves.
    fn snapshot(&mut self, before: Option<&Walk>, after: &mut Walk, restless: &[u64]) -> Snapshot {
        let then = before.map_or(after.at, |before| before.at);
        let records = threads::all();
        let now = ticks::now();
        let mut actors = take(&mut after.unlisted);
        actors.retain(|actor| !after.has_task(actor.id));
        for found in &after.tasks {
            if let Some(mut actor) = actor_of(found, after, now) {
                if restless.contains(&actor.id) {
                    let polls = after.runtimes[found.runtime].polls;
                    let before = before.and_then(|before| before.polls_of(actor.runtime));
                    actor.polls = (polls - before.unwrap_or(polls)) / restless.len() as u64;
                    actor.busy_for = after.at - then;
                }
                actors.push(actor);
            }
        }
        for record in &records {
            add_thread(&mut actors, record);
        }
        // A job may have begun to run meanwhile.
        sort_by_key(&mut actors, |actor| (actor.id, actor.state));
        actors.dedup_by(|a, b| a.id == b.id);
        for actor in &mut actors {
            // Of a thread that does not wait, the time since its last poll means nothing.
            if actor.is_thread() && actor.state != ActorState::Waiting {
                continue;
            }
            if let Some(seen) = self.seen_mut(actor.id) {
                actor.unchanged_for = after.at - seen.since;
                actor.leaves = seen.answer.clone();
            }
        }
        Snapshot {
            took: after.at - then,
            workers: stuck_workers(before, after, then),
            runtimes: take(&mut after.runtimes).into_iter().map(|runtime| runtime.state).collect(),
            actors,
            holdings: self.holdings(),
            user_threads: user_threads(&records),
            is_incomplete: after.is_incomplete,
        }
    }
}

/// Returns a task as an actor, unless it has ended. `now` is the time in ticks.
fn actor_of(found: &FoundTask, walk: &Walk, now: u64) -> Option<Actor> {
    let (id, task) = (found.id(), &found.task);
    let state = match task.phase() {
        Phase::Complete => return None,
        Phase::Idle => ActorState::Waiting,
        Phase::Active if walk.is_polling(id) => ActorState::Running,
        Phase::Active => ActorState::Queued,
    };
    let runtime = &walk.runtimes[found.runtime].state;
    let kind = match runtime.flavor {
        Flavor::LocalSet => ActorKind::LocalTask,
        Flavor::CurrentThread | Flavor::MultiThread => ActorKind::Task,
    };
    let mut actor = Actor::new(id, kind, runtime.id, Some(task.spawned_at()), state);
    actor.type_name = task.type_name();
    actor.last = task.slot().waits().filter(|_| state == ActorState::Waiting);
    actor.wakers = Some(found.wakers());
    actor.has_join_handle = task.has_join_handle();
    actor.name = task.name().map(Box::from);
    actor.record = task.figures(now);
    actor.age = task.age(now);
    Some(actor)
}

/// Adds the `block_on` and the blocking job of a thread.
fn add_thread(actors: &mut Vec<Actor>, record: &ThreadRecord) {
    let thread = || record.os_id().map(|id| (id, String::from(record.name().unwrap_or(""))));
    let job = record.job();
    if let Some((id, site)) = job {
        let (kind, runtime) = (ActorKind::BlockingJob, record.own_runtime());
        let mut runs = Actor::new(id, kind, runtime, site, ActorState::Running);
        runs.thread = thread();
        actors.push(runs);
    }
    let state = match record.block_on() {
        BlockOn::No => return,
        BlockOn::Polling => ActorState::Running,
        BlockOn::Pending => ActorState::Waiting,
    };
    let kind = ActorKind::Thread { job: job.map(|(id, _)| id) };
    let (id, runtime) = (record.slot().id(), record.block_on_runtime());
    let mut waits = Actor::new(id, kind, runtime, record.block_on_site(), state);
    waits.thread = thread();
    if state == ActorState::Waiting {
        waits.last = record.slot().waits();
        waits.wakers = record.wakers();
    }
    actors.push(waits);
}

/// Returns the threads that were in the same user code at both walks.
fn stuck_workers(before: Option<&Walk>, after: &mut Walk, then: Instant) -> Vec<WorkerState> {
    let mut workers = Vec::new();
    for stuck in &mut after.stuck {
        if stuck.is_same_poll && before.is_none_or(|before| before.has_stuck(stuck)) {
            let since = stuck.since.filter(|&since| since < then).unwrap_or(then);
            workers.push(WorkerState {
                runtime: stuck.runtime,
                index: stuck.worker.unwrap_or(usize::MAX),
                task: stuck.task,
                stuck_for: Some(after.at - since),
                thread: take(&mut stuck.thread),
            });
        }
    }
    workers
}

/// Returns the number of threads that may do anything.
fn user_threads(records: &[Arc<ThreadRecord>]) -> usize {
    let is_own = |id: u32| {
        let is_idle = |record: &ThreadRecord| {
            record.role() != ThreadRole::User || record.block_on() != BlockOn::No
        };
        records.iter().any(|record| record.os_id() == Some(id) && is_idle(record))
    };
    let Ok(all) = fs::read_dir("/proc/self/task") else { return 1 };
    let mut count = 0;
    for entry in all.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        count += usize::from(number.is_some_and(|number| !is_own(number)));
    }
    count
}
