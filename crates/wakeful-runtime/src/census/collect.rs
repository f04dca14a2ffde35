//! Takes a census of the process: reaches every task, asks some, and makes a [`Snapshot`].

use super::snapshot::{
    Actor, ActorKind, ActorState, BlockingState, Flavor, Holdings, RuntimeState, Snapshot,
    WorkerState,
};
use super::sort::{sort, sort_by_key};
use crate::scheduler::SchedulerHandle;
use crate::scheduler::current_thread::Drive;
use crate::scheduler::multi_thread::{StuckThread, Walked};
use crate::stall::OsThread;
use crate::task_walk::{self, RecordedTask};
use std::fs;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::threads::{self, BlockOn, ThreadRecord, ThreadRole};
use wakeful_base::ticks;
use wakeful_base::waiting::{self, Asking, Leaves, WaitKind, Waits, holdings};
use wakeful_task::{Phase, Retained};

/// How long a census waits for threads that may be stuck, or only wait for a CPU.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// For workers, driving threads and polled `LocalSet`s to list their tasks.
    walk: Duration,
    /// For asked actors to be polled.
    answers: Duration,
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

/// How long a worker has to answer before the census walks over its tasks itself, if its thread is
/// in user code. Some polls are long.
const OVERDUE_AFTER: Duration = Duration::from_millis(10);

/// The time between two looks at the answers.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// The limit on asked actors. Each costs a poll and a stack, some 10 µs.
const ASKED_MAX: usize = 2000;

/// The limit on asked actors that were spawned at the same place and wait for the same thing.
const ASKED_PER_GROUP_MAX: usize = 16;

/// How many times the gap between two walks is divided, to see which tasks never wait.
const SAMPLES: u32 = 10;

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
#[derive(Debug, Clone)]
struct SeenActor {
    id: u64,
    since: Instant,
    last: (WaitKind, u64),
    /// What it answered when it was asked, if it has not been polled since.
    answer: Option<Leaves>,
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

/// What a walk over one runtime or set found. Holds one reference to each task.
struct WalkedRuntime {
    state: RuntimeState,
    tasks: Vec<Retained>,
    stuck: Vec<StuckWorker>,
    queued_jobs: Vec<(u64, &'static Location<'static>)>,
    /// Tasks that no walk has reached.
    recorded: Vec<RecordedTask>,
    polls: u64,
}

/// A thread in user code. See [`StuckThread`].
struct StuckWorker {
    worker: Option<usize>,
    progress: u64,
    task: Option<u64>,
    /// Where the task was spawned, if it is not listed otherwise.
    site: Option<&'static Location<'static>>,
    since: Option<Instant>,
    thread: Option<String>,
    /// It is known to be in the same poll as at the walk before.
    is_same_poll: bool,
}

/// What one walk over the process found.
struct WalkedProcess {
    runtimes: Vec<WalkedRuntime>,
    at: Instant,
    is_incomplete: bool,
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
        let mut seen = lock(&SEEN);
        self.seen = std::mem::take(&mut *seen);
        let patience = if gap.is_zero() { Patience::OFTEN } else { Patience::ONCE };
        let mut before = walk_all(runtimes, patience);
        self.update(&before);
        let (restless, after) = if gap.is_zero() {
            (Vec::new(), None)
        } else {
            let restless = find_restless(&before, gap);
            // The census counts references, so it must have one to each task only.
            before.runtimes.iter_mut().for_each(|runtime| runtime.tasks.clear());
            let after = walk_all(runtimes, patience);
            self.update(&after);
            (restless, Some(after))
        };
        let after = after.as_ref().unwrap_or(&before);
        let mut snapshot = self.snapshot(&before, after, &restless);
        if ask != Ask::None {
            self.ask(&mut snapshot, after, ask, patience);
        }
        *seen = std::mem::take(&mut self.seen);
        snapshot
    }

    /// Takes a census for a tool that watches the process: one look, which polls no task and does
    /// not wait for threads that are stuck.
    pub(crate) fn glance(&mut self, runtimes: &[SchedulerHandle]) -> Snapshot {
        self.observe(runtimes, Duration::ZERO, Ask::None)
    }

    fn seen(&self, id: u64) -> Option<&SeenActor> {
        self.seen.binary_search_by_key(&id, |seen| seen.id).ok().map(|at| &self.seen[at])
    }

    /// Notes which actors have stood still since the last walk.
    fn update(&mut self, walked: &WalkedProcess) {
        let mut now = Vec::new();
        let mut note = |id: u64, waits: Option<Waits>| {
            let Some(waits) = waits else { return };
            let last = (waits.kind, waits.detail);
            let before = self.seen(id).filter(|_| waits.is_seen);
            let since = before.map_or(walked.at, |before| before.since);
            let answer = before.and_then(|before| before.answer.clone());
            now.push(SeenActor { id, since, last, answer });
        };
        for task in walked.runtimes.iter().flat_map(|runtime| &runtime.tasks) {
            if task.phase() != Phase::Complete {
                note(task.id().as_u64(), task.slot().look());
            }
        }
        for record in threads::all() {
            if record.block_on() == BlockOn::Pending {
                note(record.slot().id(), record.slot().look());
            }
            // A job has an id of its own, so it is the same one if it was seen before.
            let job = Waits { kind: WaitKind::Unknown, detail: 0, is_seen: true };
            if let Some((id, _)) = record.job() {
                note(id, Some(job));
            }
        }
        sort_by_key(&mut now, |seen| seen.id);
        self.seen = now;
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

    /// Returns what an actor answered earlier, if it has not been polled since.
    fn answer(&self, id: u64) -> Option<Leaves> {
        self.seen(id)?.answer.clone()
    }

    fn snapshot(
        &self,
        before: &WalkedProcess,
        after: &WalkedProcess,
        restless: &[u64],
    ) -> Snapshot {
        let records = threads::all();
        let mut actors = Vec::new();
        let now = ticks::now();
        let unchanged_for =
            |id: u64| self.seen(id).map_or(Duration::ZERO, |seen| after.at - seen.since);
        for runtime in &after.runtimes {
            let polls_before = before.runtimes.iter().find(|b| b.state.id == runtime.state.id);
            let polls = runtime.polls - polls_before.map_or(runtime.polls, |before| before.polls);
            for task in &runtime.tasks {
                let state = match task.phase() {
                    Phase::Complete => continue,
                    Phase::Idle => ActorState::Waiting,
                    Phase::Active if runtime.is_polling(task.id().as_u64()) => ActorState::Running,
                    Phase::Active => ActorState::Queued,
                };
                let id = task.id().as_u64();
                let is_restless = restless.contains(&id);
                actors.push(Actor {
                    id,
                    kind: match runtime.state.flavor {
                        Flavor::LocalSet => ActorKind::LocalTask,
                        Flavor::CurrentThread | Flavor::MultiThread => ActorKind::Task,
                    },
                    runtime: runtime.state.id,
                    site: Some(task.spawned_at()),
                    type_name: task.type_name(),
                    state,
                    last: task.slot().waits().filter(|_| state == ActorState::Waiting),
                    unchanged_for: unchanged_for(id),
                    leaves: self.answer(id),
                    // Without the census' own reference.
                    wakers: Some(task.other_refs().saturating_sub(1)),
                    has_join_handle: task.has_join_handle(),
                    polls: if is_restless { polls / restless.len() as u64 } else { 0 },
                    busy_for: if is_restless { after.at - before.at } else { Duration::ZERO },
                    thread: None,
                    name: task.name().map(Box::from),
                    record: task.figures(now),
                    age: task.age(now),
                });
            }
        }
        for runtime in &after.runtimes {
            add_unlisted(&mut actors, runtime);
        }
        for record in &records {
            add_thread(&mut actors, record, &unchanged_for);
            if let Some(waits) = actors.last_mut().filter(|last| last.id == record.slot().id()) {
                waits.leaves = self.answer(waits.id);
            }
        }
        add_queued_jobs(&mut actors, after);
        sort_by_key(&mut actors, |actor| actor.id);
        actors.dedup_by_key(|actor| actor.id);
        let workers = after.runtimes.iter().flat_map(|runtime| {
            let earlier = before.runtimes.iter().find(|b| b.state.id == runtime.state.id);
            stuck_workers(runtime, earlier, after.at, before.at)
        });
        Snapshot {
            took: after.at - before.at,
            workers: workers.collect(),
            runtimes: after.runtimes.iter().map(|runtime| runtime.state.clone()).collect(),
            actors,
            holdings: self.holdings(),
            user_threads: user_threads(&records),
            is_incomplete: after.is_incomplete,
        }
    }

    /// Asks actors that have stood still, and adds their leaves to the snapshot.
    fn ask(
        &mut self,
        snapshot: &mut Snapshot,
        walked: &WalkedProcess,
        which: Ask<'_>,
        patience: Patience,
    ) {
        let chosen = self.choose(snapshot, which);
        if chosen.is_empty() {
            return;
        }
        let asking = Asking::begin();
        drop(waiting::take_answers());
        for task in walked.runtimes.iter().flat_map(|runtime| &runtime.tasks) {
            if chosen.binary_search(&task.id().as_u64()).is_ok() {
                task.ask();
            }
        }
        let records = threads::all();
        let is_chosen =
            |record: &&Arc<ThreadRecord>| chosen.binary_search(&record.slot().id()).is_ok();
        records.iter().filter(is_chosen).for_each(|record| record.ask());
        let mut answers: Vec<(u64, Leaves)> = Vec::new();
        let until = Instant::now() + patience.answers;
        while answers.len() < chosen.len() && Instant::now() < until {
            thread::sleep(LOOK_INTERVAL);
            answers.append(&mut waiting::take_answers());
            for record in records.iter().filter(is_chosen) {
                answers.extend(record.take_answer().map(|leaves| (record.slot().id(), leaves)));
            }
        }
        drop(asking);
        self.refresh(snapshot, walked, &records, &chosen, &answers);
        for (id, leaves) in answers {
            let Ok(at) = snapshot.actors.binary_search_by_key(&id, |actor| actor.id) else {
                continue;
            };
            let actor = &mut snapshot.actors[at];
            if actor.state == ActorState::Waiting {
                actor.leaves = Some(leaves.clone());
                if let Ok(at) = self.seen.binary_search_by_key(&id, |seen| seen.id) {
                    self.seen[at].answer = Some(leaves);
                }
            }
        }
    }

    /// Returns the ids of the actors to ask, sorted.
    fn choose(&self, snapshot: &Snapshot, which: Ask<'_>) -> Vec<u64> {
        let is_suspect = |actor: &&Actor| {
            // A task without a waker has lost it. A poll might set it going, and hide that.
            actor.state == ActorState::Waiting
                && actor.wakers != Some(0)
                && actor.unchanged_for > Duration::ZERO
                && can_be_polled(snapshot, actor)
                && match which {
                    Ask::None => false,
                    Ask::Suspects => actor.leaves.is_none() && waits_for_others(actor),
                    Ask::These(ids) => ids.contains(&actor.id),
                    Ask::All | Ask::Spread(_) => true,
                }
        };
        let mut suspects: Vec<_> = snapshot.actors.iter().filter(is_suspect).collect();
        if let Ask::Spread(limit) = which {
            // The ids are sorted already.
            let (len, limit) = (suspects.len(), limit.min(suspects.len()));
            return (0..limit).map(|at| suspects[at * len / limit].id).collect();
        }
        sort_by_key(&mut suspects, |actor| (group_of(actor), actor.id));
        let mut chosen = Vec::new();
        let (mut group, mut in_group) = (None, 0);
        for actor in suspects {
            if group != Some(group_of(actor)) {
                (group, in_group) = (Some(group_of(actor)), 0);
            }
            in_group += 1;
            if in_group <= ASKED_PER_GROUP_MAX && chosen.len() < ASKED_MAX {
                chosen.push(actor.id);
            }
        }
        sort(&mut chosen, |a, b| a < b);
        chosen
    }

    /// Takes the state of asked actors anew: an answer may have let one go on.
    fn refresh(
        &mut self,
        snapshot: &mut Snapshot,
        walked: &WalkedProcess,
        records: &[Arc<ThreadRecord>],
        chosen: &[u64],
        answers: &[(u64, Leaves)],
    ) {
        let tasks = walked.runtimes.iter().flat_map(|runtime| &runtime.tasks);
        let tasks = tasks.filter(|task| chosen.binary_search(&task.id().as_u64()).is_ok());
        let tasks = tasks.map(|task| {
            let is_idle = task.phase() == Phase::Idle;
            // Without the census' own reference.
            let wakers = Some(task.other_refs().saturating_sub(1));
            (task.id().as_u64(), is_idle, task.slot().look(), wakers)
        });
        let threads = records.iter().filter(|r| chosen.binary_search(&r.slot().id()).is_ok());
        let threads = threads.map(|record| {
            let is_idle = record.block_on() == BlockOn::Pending;
            (record.slot().id(), is_idle, record.slot().look(), record.wakers())
        });
        let now = Instant::now();
        for (id, is_idle, waits, wakers) in tasks.chain(threads) {
            let Ok(at) = snapshot.actors.binary_search_by_key(&id, |actor| actor.id) else {
                continue;
            };
            let actor = &mut snapshot.actors[at];
            actor.leaves = None;
            let Some(waits) = waits.filter(|_| is_idle) else {
                actor.state = ActorState::Queued;
                actor.unchanged_for = Duration::ZERO;
                continue;
            };
            (actor.last, actor.wakers) = (Some(waits), wakers);
            let Ok(at) = self.seen.binary_search_by_key(&id, |seen| seen.id) else { continue };
            let seen = &mut self.seen[at];
            // The poll that was asked for does not count, if it has changed nothing. With several
            // leaves another one may be the last: `join!` and `select!` change the order.
            let answer = answers.iter().find(|answer| answer.0 == id);
            let mut leaves = answer.iter().flat_map(|answer| &answer.1.leaves);
            let last = (waits.kind, waits.detail);
            if seen.last != last && !leaves.any(|leaf| (leaf.kind, leaf.detail) == seen.last) {
                seen.since = now;
            }
            seen.last = last;
            seen.answer = None;
            actor.unchanged_for = now - seen.since;
        }
    }
}

/// Returns whether some thread would poll an actor that was woken.
fn can_be_polled(snapshot: &Snapshot, actor: &Actor) -> bool {
    let runtime = snapshot.runtimes.iter().find(|runtime| runtime.id == actor.runtime);
    let Some(runtime) = runtime else { return actor.kind != ActorKind::BlockingJob };
    // Its only thread does not return from a poll.
    let is_stuck = runtime.flavor == Flavor::CurrentThread
        && snapshot.workers.iter().any(|worker| worker.runtime == runtime.id);
    match actor.kind {
        ActorKind::Thread { .. } => !is_stuck,
        ActorKind::BlockingJob => false,
        ActorKind::Task | ActorKind::LocalTask => !is_stuck && runtime.is_driven,
    }
}

/// Returns whether an actor waits for something that other tasks have to do.
fn waits_for_others(actor: &Actor) -> bool {
    let Some(last) = actor.last else { return true };
    !matches!(
        last.kind,
        WaitKind::Time
            | WaitKind::IoRead
            | WaitKind::IoWrite
            | WaitKind::Signal
            | WaitKind::Process
    )
}

/// Actors of the same group wait at the same place of the program for the same thing.
fn group_of(actor: &Actor) -> (usize, Option<(WaitKind, u64)>) {
    let site = actor.site.map_or(0, |site| std::ptr::from_ref(site).addr());
    let last = actor.last.map(|last| match last.kind {
        // Each deadline is another.
        WaitKind::Time => (last.kind, 0),
        kind => (kind, last.detail),
    });
    (site, last)
}

impl WalkedRuntime {
    fn is_polling(&self, id: u64) -> bool {
        self.stuck.iter().any(|stuck| stuck.task == Some(id))
    }
}

/// Returns the ids of tasks that are active whenever they are looked at during `gap`, and are
/// polled meanwhile.
fn find_restless(walked: &WalkedProcess, gap: Duration) -> Vec<u64> {
    let tasks = walked.runtimes.iter().flat_map(|runtime| &runtime.tasks);
    let mut active: Vec<_> = tasks.filter(|task| task.phase() == Phase::Active).collect();
    for _ in 0..SAMPLES {
        thread::sleep(gap / SAMPLES);
        active.retain(|task| task.phase() == Phase::Active);
    }
    // A task whose note is still marked was not polled.
    active.retain(|task| !task.slot().waits().is_some_and(|waits| waits.is_seen));
    active.into_iter().map(|task| task.id().as_u64()).collect()
}

fn walk_all(runtimes: &[SchedulerHandle], patience: Patience) -> WalkedProcess {
    let sets = task_walk::sets();
    for runtime in runtimes {
        match runtime {
            SchedulerHandle::CurrentThread(scheduler) => scheduler.begin_walk(),
            SchedulerHandle::MultiThread(scheduler) => scheduler.begin_walk(),
        }
    }
    for set in &sets {
        set.walk().request();
        set.wake_poller();
    }
    let polling = PollingThread::all();
    let begun = Instant::now();
    loop {
        let is_overdue = begun.elapsed() > OVERDUE_AFTER;
        let mut is_done = true;
        for runtime in runtimes {
            is_done &= match runtime {
                SchedulerHandle::CurrentThread(scheduler) => scheduler.advance_walk(),
                SchedulerHandle::MultiThread(scheduler) => scheduler.advance_walk(is_overdue),
            };
        }
        for set in sets.iter().filter(|set| set.walk().is_requested()) {
            set.wake_poller();
            is_done = false;
        }
        if is_done || begun.elapsed() > patience.walk {
            break;
        }
        thread::sleep(LOOK_INTERVAL);
    }
    let mut is_incomplete = false;
    let mut walked = Vec::new();
    for runtime in runtimes {
        let (found, incomplete) = finish_runtime(runtime, &polling);
        is_incomplete |= incomplete;
        walked.extend(found);
    }
    for set in sets {
        let (tasks, is_done) = set.walk().finish();
        let is_its_thread = |thread: &&PollingThread| {
            set.is_being_polled() && set.thread().is_some() && thread.record.os_id() == set.thread()
        };
        let stuck = polling.iter().filter(|_| !is_done).find(is_its_thread);
        walked.push(WalkedRuntime {
            state: RuntimeState {
                id: set.id(),
                name: None,
                flavor: Flavor::LocalSet,
                is_driven: is_done || set.is_being_polled(),
                thread: set.thread(),
                queued: usize::from(set.has_queued()),
                blocking: BlockingState::default(),
                has_outside_events: false,
            },
            tasks: unique(tasks),
            stuck: stuck.and_then(|thread| thread.stuck(None)).into_iter().collect(),
            queued_jobs: Vec::new(),
            recorded: if is_done { Vec::new() } else { set.recorded() },
            polls: 0,
        });
    }
    WalkedProcess { runtimes: walked, at: Instant::now(), is_incomplete }
}

/// A thread whose `block_on` polls its future.
struct PollingThread {
    record: Arc<ThreadRecord>,
    /// The walk before has found it in the same poll.
    was_seen: bool,
}

impl PollingThread {
    /// Finds all such threads, and marks their polls.
    fn all() -> Vec<PollingThread> {
        let polling = |record: Arc<ThreadRecord>| {
            let waits = record.slot().look()?;
            (record.block_on() == BlockOn::Polling)
                .then_some(PollingThread { record, was_seen: waits.is_seen })
        };
        threads::all().into_iter().filter_map(polling).collect()
    }

    /// Returns the state of the thread if it is in the same poll now.
    fn stuck(&self, worker: Option<usize>) -> Option<StuckWorker> {
        let is_same = self.record.block_on() == BlockOn::Polling
            && self.record.slot().waits().is_some_and(|waits| waits.is_seen);
        let thread = self.record.os_id().map(OsThread::with_number);
        is_same.then(|| StuckWorker {
            worker,
            progress: 0,
            task: Some(self.record.slot().id()),
            site: None,
            since: None,
            thread: thread.map(|thread| thread.describe()),
            is_same_poll: self.was_seen,
        })
    }
}

/// Returns what was found in a runtime, unless it has shut down, and whether something is missing.
fn finish_runtime(
    runtime: &SchedulerHandle,
    polling: &[PollingThread],
) -> (Option<WalkedRuntime>, bool) {
    let info = runtime.info();
    let blocking = runtime.pool().blocking_state(runtime.pool_workers());
    let mut state = RuntimeState {
        id: info.id.get(),
        name: info.name.clone(),
        flavor: Flavor::MultiThread,
        is_driven: true,
        thread: None,
        queued: 0,
        blocking: BlockingState {
            busy: blocking.busy,
            threads_max: blocking.threads_max,
            queued: blocking.queued.len(),
        },
        has_outside_events: false,
    };
    let queued_jobs = blocking.queued;
    match runtime {
        SchedulerHandle::CurrentThread(scheduler) => {
            let (tasks, is_done) = scheduler.finish_walk();
            let drive = scheduler.drive_state();
            state.flavor = Flavor::CurrentThread;
            state.is_driven = drive == Drive::Thread;
            state.queued = scheduler.queued_len();
            let polls = scheduler.poll_count();
            let (tasks, mut stuck) = (unique(tasks), Vec::new());
            let polled = if is_done { None } else { scheduler.polled_task() };
            if let Some((id, site, progress)) = polled {
                let runtime = info.id.get();
                let is_driver =
                    |r: &Arc<ThreadRecord>| r.block_on_runtime() == runtime && r.os_id().is_some();
                let driver = threads::all().into_iter().find(is_driver);
                let thread = driver.and_then(|driver| driver.os_id()).map(OsThread::with_number);
                stuck.push(StuckWorker {
                    worker: Some(0),
                    progress,
                    task: Some(id),
                    site: Some(site),
                    since: None,
                    thread: thread.map(|thread| thread.describe()),
                    is_same_poll: true,
                });
            } else if !is_done && drive == Drive::Thread {
                let id = info.id.get();
                let mut driving = polling.iter().filter(|it| it.record.block_on_runtime() == id);
                stuck.extend(driving.find_map(|thread| thread.stuck(Some(0))));
            }
            let found =
                WalkedRuntime { state, tasks, stuck, queued_jobs, recorded: Vec::new(), polls };
            if drive == Drive::Stopped { (None, false) } else { (Some(found), !is_done) }
        }
        SchedulerHandle::MultiThread(scheduler) => {
            let Walked { tasks, stuck, is_incomplete } = scheduler.finish_walk();
            state.queued = scheduler.queued_len();
            let polls = scheduler.poll_count();
            let mut tasks = tasks;
            let mut in_user_code = Vec::new();
            for thread in stuck {
                let StuckThread { worker, progress, task, since, thread } = thread;
                let id = task.as_ref().map(|task| task.id().as_u64());
                in_user_code.push(StuckWorker {
                    worker,
                    progress,
                    task: id,
                    site: None,
                    since,
                    thread,
                    is_same_poll: true,
                });
                // A task that is being polled for the first time is in no list.
                tasks.extend(task);
            }
            let (tasks, stuck) = (unique(tasks), in_user_code);
            let found =
                WalkedRuntime { state, tasks, stuck, queued_jobs, recorded: Vec::new(), polls };
            if scheduler.is_shut_down() { (None, false) } else { (Some(found), is_incomplete) }
        }
    }
}

fn unique(mut tasks: Vec<Retained>) -> Vec<Retained> {
    // By id, as the actors are.
    sort_by_key(&mut tasks, |task| task.id().as_u64());
    tasks.dedup_by_key(|task| task.task());
    tasks
}

/// Returns the threads that were in the same user code at both walks.
fn stuck_workers(
    runtime: &WalkedRuntime,
    before: Option<&WalkedRuntime>,
    now: Instant,
    then: Instant,
) -> Vec<WorkerState> {
    let runtime_id = runtime.state.id;
    let is_same = |earlier: &StuckWorker, stuck: &StuckWorker| {
        earlier.task == stuck.task
            && stuck.is_same_poll
            && (stuck.worker.is_none()
                || (earlier.worker == stuck.worker && earlier.progress == stuck.progress))
    };
    let state = |stuck: &StuckWorker| {
        let earlier = before?.stuck.iter().any(|earlier| is_same(earlier, stuck));
        let since = stuck.since.filter(|&since| since < then).unwrap_or(then);
        earlier.then(|| WorkerState {
            runtime: runtime_id,
            index: stuck.worker.unwrap_or(usize::MAX),
            task: stuck.task,
            stuck_for: Some(now - since),
            thread: stuck.thread.clone(),
        })
    };
    runtime.stuck.iter().filter_map(state).collect()
}

/// Adds the `block_on` and the blocking job of a thread.
fn add_thread(
    actors: &mut Vec<Actor>,
    record: &ThreadRecord,
    unchanged_for: &dyn Fn(u64) -> Duration,
) {
    let thread = record.os_id().map(|id| (id, String::from(record.name().unwrap_or(""))));
    let actor = |id, kind, site, state| Actor {
        id,
        kind,
        runtime: record.block_on_runtime(),
        site,
        type_name: "",
        state,
        last: None,
        unchanged_for: Duration::ZERO,
        leaves: None,
        wakers: None,
        has_join_handle: false,
        polls: 0,
        busy_for: Duration::ZERO,
        thread: thread.clone(),
        name: None,
        record: None,
        age: None,
    };
    let job = record.job();
    if let Some((id, site)) = job {
        let mut runs = actor(id, ActorKind::BlockingJob, site, ActorState::Running);
        (runs.runtime, runs.unchanged_for) = (record.own_runtime(), unchanged_for(id));
        actors.push(runs);
    }
    let state = match record.block_on() {
        BlockOn::No => return,
        BlockOn::Polling => ActorState::Running,
        BlockOn::Pending => ActorState::Waiting,
    };
    let kind = ActorKind::Thread { job: job.map(|(id, _)| id) };
    let mut waits = actor(record.slot().id(), kind, record.block_on_site(), state);
    if state == ActorState::Waiting {
        waits.last = record.slot().waits();
        waits.unchanged_for = unchanged_for(waits.id);
        waits.wakers = record.wakers();
    }
    actors.push(waits);
}

/// Adds tasks that no walk has reached: those that a thread is stuck in, and those of a `LocalSet`
/// that does not answer.
fn add_unlisted(actors: &mut Vec<Actor>, runtime: &WalkedRuntime) {
    let mut add = |id, kind, site, type_name, state| {
        actors.push(Actor {
            id,
            kind,
            runtime: runtime.state.id,
            site: Some(site),
            type_name,
            state,
            last: None,
            unchanged_for: Duration::ZERO,
            leaves: None,
            wakers: None,
            has_join_handle: false,
            polls: 0,
            busy_for: Duration::ZERO,
            thread: None,
            name: None,
            record: None,
            age: None,
        });
    };
    for stuck in &runtime.stuck {
        if let (Some(id), Some(site)) = (stuck.task, stuck.site) {
            add(id, ActorKind::Task, site, "", ActorState::Running);
        }
    }
    for task in &runtime.recorded {
        let RecordedTask { id, spawned_at, type_name } = *task;
        add(id, ActorKind::LocalTask, spawned_at, type_name, ActorState::Queued);
    }
}

/// Adds the blocking jobs that wait for a thread.
fn add_queued_jobs(actors: &mut Vec<Actor>, walked: &WalkedProcess) {
    for runtime in &walked.runtimes {
        for &(id, site) in &runtime.queued_jobs {
            actors.push(Actor {
                id,
                kind: ActorKind::BlockingJob,
                runtime: runtime.state.id,
                site: Some(site),
                type_name: "",
                state: ActorState::Queued,
                last: None,
                unchanged_for: Duration::ZERO,
                leaves: None,
                wakers: None,
                has_join_handle: false,
                polls: 0,
                busy_for: Duration::ZERO,
                thread: None,
                name: None,
                record: None,
                age: None,
            });
        }
    }
}

/// Returns the number of threads that may do anything.
fn user_threads(records: &[Arc<ThreadRecord>]) -> usize {
    let own: Vec<u32> = records
        .iter()
        .filter(|record| record.role() != ThreadRole::User || record.block_on() != BlockOn::No)
        .filter_map(|record| record.os_id())
        .collect();
    let Ok(all) = fs::read_dir("/proc/self/task") else { return 1 };
    let number = |entry: std::io::Result<fs::DirEntry>| -> Option<u32> {
        entry.ok()?.file_name().to_str()?.parse().ok()
    };
    all.filter_map(number).filter(|number| !own.contains(number)).count()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
