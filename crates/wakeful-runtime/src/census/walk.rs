//! Reaches every task of the process.

use super::snapshot::{Actor, ActorKind, ActorState, BlockingState, Flavor, RuntimeState};
use super::sort::sort_by_key;
use crate::scheduler::SchedulerHandle;
use crate::scheduler::current_thread::{CurrentThread, Drive};
use crate::stall::OsThread;
use crate::task_walk::{self, StuckThread, WalkedSet};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wakeful_base::threads::{self, BlockOn, ThreadRecord};
use wakeful_task::{Phase, Retained};

/// How long a worker has to answer before the census walks over its tasks itself, if its thread is
/// in user code. Some polls are long.
const OVERDUE_AFTER: Duration = Duration::from_millis(10);

/// The time between two looks at the answers.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// How many times the gap between two walks is divided, to see which tasks never wait.
const SAMPLES: u32 = 10;

/// What one walk over the process found.
pub(super) struct Walk {
    pub(super) at: Instant,
    pub(super) runtimes: Vec<WalkedRuntime>,
    /// One reference to each task, in the order of their ids.
    pub(super) tasks: Vec<FoundTask>,
    pub(super) stuck: Vec<StuckThread>,
    /// Queued jobs, and tasks that are known although no walk has reached them.
    pub(super) unlisted: Vec<Actor>,
    pub(super) is_incomplete: bool,
}

pub(super) struct WalkedRuntime {
    pub(super) state: RuntimeState,
    /// How many polls it has made so far.
    pub(super) polls: u64,
}

pub(super) struct FoundTask {
    pub(super) task: Retained,
    /// The index of the task's runtime.
    pub(super) runtime: usize,
}

impl FoundTask {
    pub(super) fn id(&self) -> u64 {
        self.task.id().as_u64()
    }

    /// Returns how many wakers exist, which does not count the census' own reference.
    pub(super) fn wakers(&self) -> usize {
        self.task.other_refs().saturating_sub(1)
    }
}

impl Walk {
    /// Walks over all tasks of `runtimes` and of all `LocalSet`s. What has not answered after
    /// `patience` is left out.
    pub(super) fn over(runtimes: &[SchedulerHandle], patience: Duration) -> Walk {
        let sets = task_walk::sets();
        request_walks(runtimes, &sets);
        let polling = polling_threads();
        wait_for_walks(runtimes, &sets, patience);
        let mut walk = Walk {
            at: Instant::now(),
            runtimes: Vec::new(),
            tasks: Vec::new(),
            stuck: Vec::new(),
            unlisted: Vec::new(),
            is_incomplete: false,
        };
        for runtime in runtimes {
            walk.add_runtime(runtime, &polling);
        }
        for set in &sets {
            walk.add_set(&**set, &polling);
        }
        sort_by_key(&mut walk.tasks, FoundTask::id);
        walk.tasks.dedup_by(|a, b| a.id() == b.id());
        walk.at = Instant::now();
        walk
    }

    /// Returns whether the thread was in the same user code at this walk.
    pub(super) fn has_stuck(&self, stuck: &StuckThread) -> bool {
        self.stuck.iter().any(|earlier| {
            let is_same_turn = earlier.worker == stuck.worker && earlier.progress == stuck.progress;
            earlier.runtime == stuck.runtime
                && earlier.task == stuck.task
                && (is_same_turn || stuck.worker.is_none())
        })
    }

    /// Returns whether a thread is stuck in the poll of this task.
    pub(super) fn is_polling(&self, id: u64) -> bool {
        self.stuck.iter().any(|stuck| stuck.task == Some(id))
    }

    pub(super) fn has_task(&self, id: u64) -> bool {
        self.tasks.binary_search_by_key(&id, FoundTask::id).is_ok()
    }

    /// Returns how many polls a runtime had made at this walk.
    pub(super) fn polls_of(&self, runtime: u64) -> Option<u64> {
        let runtime = self.runtimes.iter().find(|other| other.state.id == runtime);
        runtime.map(|runtime| runtime.polls)
    }

    /// Returns the ids of tasks that are active whenever they are looked at during `gap`, and are
    /// polled meanwhile.
    pub(super) fn find_restless(&self, gap: Duration) -> Vec<u64> {
        let is_active = |task: &&FoundTask| task.task.phase() == Phase::Active;
        let mut active: Vec<&FoundTask> = self.tasks.iter().filter(is_active).collect();
        for _ in 0..SAMPLES {
            thread::sleep(gap / SAMPLES);
            active.retain(is_active);
        }
        // A task whose note is still marked was not polled.
        active.retain(|task| !task.task.slot().waits().is_some_and(|waits| waits.is_seen));
        active.into_iter().map(FoundTask::id).collect()
    }

    /// Adds what was found in a runtime, unless it has shut down.
    fn add_runtime(&mut self, runtime: &SchedulerHandle, polling: &[PollingThread]) {
        let info = runtime.info();
        let pool = runtime.pool().blocking_state(runtime.pool_workers());
        let mut state = RuntimeState {
            id: info.id.get(),
            name: info.name.clone(),
            flavor: Flavor::MultiThread,
            is_driven: true,
            thread: None,
            queued: 0,
            blocking: BlockingState {
                busy: pool.busy,
                threads_max: pool.threads_max,
                queued: pool.queued.len(),
            },
        };
        let mut tasks = Vec::new();
        let (polls, is_complete);
        match runtime {
            SchedulerHandle::CurrentThread(scheduler) => {
                is_complete = scheduler.finish_walk(&mut tasks);
                let drive = scheduler.drive_state();
                if drive == Drive::Stopped {
                    return;
                }
                state.flavor = Flavor::CurrentThread;
                state.is_driven = drive == Drive::Thread;
                state.queued = scheduler.queued_len();
                polls = scheduler.poll_count();
                if !is_complete && !self.add_polled_task(scheduler, state.id) && state.is_driven {
                    let is_driver = |it: &PollingThread| it.record.block_on_runtime() == state.id;
                    self.add_polling_thread(polling, state.id, Some(0), &is_driver);
                }
            }
            SchedulerHandle::MultiThread(scheduler) => {
                let mut walked = scheduler.finish_walk();
                if scheduler.is_shut_down() {
                    return;
                }
                is_complete = !walked.is_incomplete;
                state.queued = scheduler.queued_len();
                polls = scheduler.poll_count();
                tasks = walked.tasks;
                self.stuck.append(&mut walked.stuck);
            }
        }
        self.is_incomplete |= !is_complete;
        for (id, site) in pool.queued {
            let (kind, queued) = (ActorKind::BlockingJob, ActorState::Queued);
            self.unlisted.push(Actor::new(id, kind, state.id, Some(site), queued));
        }
        self.add(state, polls, tasks);
    }

    /// Adds the task that the driving thread of a current-thread runtime is stuck in. Returns
    /// whether there is one.
    fn add_polled_task(&mut self, scheduler: &CurrentThread, runtime: u64) -> bool {
        let Some((id, site, progress)) = scheduler.polled_task() else { return false };
        let mut thread = None;
        for record in threads::all() {
            if let (true, Some(id)) = (record.block_on_runtime() == runtime, record.os_id()) {
                thread = Some(OsThread::with_number(id).describe());
                break;
            }
        }
        let (worker, task, since) = (Some(0), Some(id), None);
        let is_same_poll = true;
        self.stuck.push(StuckThread {
            runtime,
            worker,
            progress,
            task,
            since,
            thread,
            is_same_poll,
        });
        let running = ActorState::Running;
        self.unlisted.push(Actor::new(id, ActorKind::Task, runtime, Some(site), running));
        true
    }

    /// Adds the first of the threads that passes `test` and is in the same poll now.
    fn add_polling_thread(
        &mut self,
        polling: &[PollingThread],
        runtime: u64,
        worker: Option<usize>,
        test: &dyn Fn(&PollingThread) -> bool,
    ) {
        for PollingThread { record, was_seen } in polling.iter().filter(|thread| test(thread)) {
            let is_polling = record.block_on() == BlockOn::Polling;
            if is_polling && record.slot().waits().is_some_and(|waits| waits.is_seen) {
                self.stuck.push(StuckThread {
                    runtime,
                    worker,
                    progress: 0,
                    task: Some(record.slot().id()),
                    since: None,
                    thread: record.os_id().map(|id| OsThread::with_number(id).describe()),
                    is_same_poll: *was_seen,
                });
                return;
            }
        }
    }

    /// Adds what was found in a `LocalSet`.
    fn add_set(&mut self, set: &dyn WalkedSet, polling: &[PollingThread]) {
        let mut tasks = Vec::new();
        let is_done = set.walk().finish(&mut tasks);
        let state = RuntimeState {
            id: set.id(),
            name: None,
            flavor: Flavor::LocalSet,
            is_driven: is_done || set.is_being_polled(),
            thread: set.thread(),
            queued: usize::from(set.has_queued()),
            blocking: BlockingState::default(),
        };
        if let (false, true, Some(id)) = (is_done, set.is_being_polled(), set.thread()) {
            let is_its_thread = |it: &PollingThread| it.record.os_id() == Some(id);
            self.add_polling_thread(polling, state.id, None, &is_its_thread);
        }
        let recorded = if is_done { Vec::new() } else { set.recorded() };
        for task in recorded {
            let (kind, queued) = (ActorKind::LocalTask, ActorState::Queued);
            let mut actor = Actor::new(task.id, kind, state.id, Some(task.spawned_at), queued);
            actor.type_name = task.type_name;
            self.unlisted.push(actor);
        }
        self.add(state, 0, tasks);
    }

    fn add(&mut self, state: RuntimeState, polls: u64, mut tasks: Vec<Retained>) {
        let runtime = self.runtimes.len();
        self.runtimes.push(WalkedRuntime { state, polls });
        self.tasks.reserve(tasks.len());
        while let Some(task) = tasks.pop() {
            self.tasks.push(FoundTask { task, runtime });
        }
    }
}

/// A thread whose `block_on` polls its future.
struct PollingThread {
    record: Arc<ThreadRecord>,
    /// The walk before has found it in the same poll.
    was_seen: bool,
}

/// Finds all such threads, and marks their polls.
fn polling_threads() -> Vec<PollingThread> {
    let mut polling = Vec::new();
    for record in threads::all() {
        let Some(waits) = record.slot().look() else { continue };
        if record.block_on() == BlockOn::Polling {
            polling.push(PollingThread { record, was_seen: waits.is_seen });
        }
    }
    polling
}

fn request_walks(runtimes: &[SchedulerHandle], sets: &[Arc<dyn WalkedSet>]) {
    for runtime in runtimes {
        match runtime {
            SchedulerHandle::CurrentThread(scheduler) => scheduler.begin_walk(),
            SchedulerHandle::MultiThread(scheduler) => scheduler.begin_walk(),
        }
    }
    for set in sets {
        set.walk().request();
        set.wake_poller();
    }
}

/// Waits until the walks are done, or for `patience`.
fn wait_for_walks(runtimes: &[SchedulerHandle], sets: &[Arc<dyn WalkedSet>], patience: Duration) {
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
        for set in sets {
            if set.walk().is_requested() {
                set.wake_poller();
                is_done = false;
            }
        }
        if is_done || begun.elapsed() > patience {
            return;
        }
        thread::sleep(LOOK_INTERVAL);
    }
}
