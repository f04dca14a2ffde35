//! What a census found: plain data, on which `verdict.rs` works without the runtime.

use std::fmt;
use std::panic::Location;
use std::time::Duration;
pub(crate) use wakeful_base::waiting::holdings::{ChannelUse, HeldPermits};
use wakeful_base::waiting::{Leaf, Leaves, WaitKind, Waits};
pub(crate) use wakeful_task::TaskFigures;

/// The process, as one census saw it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) runtimes: Vec<RuntimeState>,
    /// Tasks, blocking jobs, and the futures of threads in `block_on`. No two have the same id.
    pub(crate) actors: Vec<Actor>,
    pub(crate) workers: Vec<WorkerState>,
    /// The holders of permits and read locks, and the users of channels. Only known if they
    /// were recorded from the start.
    pub(crate) holdings: Holdings,
    /// Threads of the process that may do anything: not in `block_on`, and not the runtime's.
    pub(crate) user_threads: usize,
    /// The list of actors is incomplete: some worker or set did not answer in time.
    pub(crate) is_incomplete: bool,
    /// How long polls were counted for [`Actor::polls`]. Zero if they were not.
    pub(crate) took: Duration,
}

/// One runtime.
#[derive(Debug, Clone)]
pub(crate) struct RuntimeState {
    /// The runtime's id.
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    pub(crate) flavor: Flavor,
    /// A thread drives it. Always true for a multi-thread runtime that has not shut down. For a
    /// `LocalSet`: a future that polls the set exists and returned `Pending` in its last poll.
    pub(crate) is_driven: bool,
    /// The kernel's id of the only thread that can poll this `LocalSet`, if that is known. `None`
    /// for runtimes.
    pub(crate) thread: Option<u32>,
    /// Tasks in queues that no worker has taken yet.
    pub(crate) queued: usize,
    /// The threads of the blocking pool that run jobs, the limit on them, and the queued jobs.
    pub(crate) blocking: BlockingState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavor {
    CurrentThread,
    MultiThread,
    /// A `LocalSet`, which is driven by whatever polls it.
    LocalSet,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct BlockingState {
    pub(crate) busy: usize,
    pub(crate) threads_max: usize,
    pub(crate) queued: usize,
}

/// What runs a worker of a runtime now.
#[derive(Debug, Clone)]
pub(crate) struct WorkerState {
    pub(crate) runtime: u64,
    /// The worker's number in its runtime.
    pub(crate) index: usize,
    /// The task in whose poll the worker's thread has been for `stuck_for`.
    pub(crate) task: Option<u64>,
    /// How long the thread has been in the same user code, if that is long enough for a stall.
    pub(crate) stuck_for: Option<Duration>,
    /// What the operating system says of the thread.
    pub(crate) thread: Option<String>,
}

/// Something that waits or runs: a task, a blocking job, or a thread in `block_on`.
#[derive(Debug, Clone)]
pub(crate) struct Actor {
    /// The task's id; for a thread in `block_on`, a number with
    /// [`THREAD_ID`](wakeful_base::threads::THREAD_ID) set.
    pub(crate) id: u64,
    pub(crate) kind: ActorKind,
    /// The runtime or `LocalSet` that it belongs to; zero if it belongs to none.
    pub(crate) runtime: u64,
    /// Where it was spawned, or where `block_on` was called.
    pub(crate) site: Option<&'static Location<'static>>,
    /// The type of the future; empty for threads.
    pub(crate) type_name: &'static str,
    pub(crate) state: ActorState,
    /// What it noted last in its last poll. Only means something while it waits.
    pub(crate) last: Option<Waits>,
    /// How long it has been seen without a poll in between. Zero when it is seen for the first
    /// time.
    ///
    /// A poll that the census asked for does not count, unless its leaves differ from those of the
    /// answer before. The last look is made after all answers have come: then two actors that were
    /// both unchanged for longer than the census took had these leaves at the same time. For a
    /// queued task this is the time in the queue, for a blocking job the time it has run.
    pub(crate) unchanged_for: Duration,
    /// The leaves of a poll that was made for this census, if it was asked and was still pending.
    pub(crate) leaves: Option<Leaves>,
    /// How many wakers and abort handles of the task exist. For a thread, the wakers of its
    /// `block_on` apart from those that `block_on` itself keeps. `None` if that is not known: then
    /// nothing certain can be said of the actor.
    pub(crate) wakers: Option<usize>,
    pub(crate) has_join_handle: bool,
    /// Polls that were counted while the census was taken. Many polls of a task that never waits
    /// mean that it spins.
    pub(crate) polls: u64,
    /// How long each look has found it queued or polled, with polls in between. Zero otherwise.
    pub(crate) busy_for: Duration,
    /// The thread that it runs or blocks on: the kernel's id and the name.
    pub(crate) thread: Option<(u32, String)>,
    /// The name that the program gave to the task.
    pub(crate) name: Option<Box<str>>,
    /// What is recorded of the task, if it is.
    pub(crate) record: Option<TaskFigures>,
    /// How long ago the task was spawned, if it was recorded then.
    pub(crate) age: Option<Duration>,
}

impl Actor {
    /// Creates an actor of which only this is known.
    #[inline(never)]
    pub(crate) fn new(
        id: u64,
        kind: ActorKind,
        runtime: u64,
        site: Option<&'static Location<'static>>,
        state: ActorState,
    ) -> Actor {
        Actor {
            id,
            kind,
            runtime,
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
            thread: None,
            name: None,
            record: None,
            age: None,
        }
    }

    pub(crate) fn is_task(&self) -> bool {
        matches!(self.kind, ActorKind::Task | ActorKind::LocalTask)
    }

    pub(crate) fn is_thread(&self) -> bool {
        matches!(self.kind, ActorKind::Thread { .. })
    }

    /// Returns the leaves that are known, which are none if it was not asked.
    pub(crate) fn leaves(&self) -> &[Leaf] {
        self.leaves.as_ref().map_or(&[], |answer| &answer.leaves)
    }

    /// Returns what it noted last.
    pub(crate) fn last(&self) -> Option<(WaitKind, u64)> {
        self.last.map(|last| (last.kind, last.detail))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ActorKind {
    Task,
    /// A task of a `LocalSet`.
    LocalTask,
    /// A closure of `spawn_blocking`: `Running` while a thread runs it, or `Queued`. Its thread may
    /// be in `block_on`; then there is an actor for that too.
    BlockingJob,
    /// The future of a `block_on`. If its thread runs a blocking job, `job` is that job's id.
    Thread {
        job: Option<u64>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ActorState {
    /// Being polled, or about to be.
    Running,
    /// In a queue.
    Queued,
    /// Waits for a wake-up.
    Waiting,
}

/// The holders that are recorded while the process is watched.
#[derive(Debug, Clone, Default)]
pub(crate) struct Holdings {
    /// Whether they were recorded since the process started. If not, all lists are empty.
    pub(crate) are_complete: bool,
    pub(crate) permits: Vec<HeldPermits>,
    pub(crate) channels: Vec<ChannelUse>,
    /// The semaphores that got permits by `add_permits`, in any order. `None` if that is not
    /// recorded: then a semaphore whose permits were forgotten may get new ones.
    pub(crate) refilled: Option<Vec<u64>>,
}

impl fmt::Display for ActorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ActorKind::Task => "task",
            ActorKind::LocalTask => "local task",
            ActorKind::BlockingJob => "blocking job",
            ActorKind::Thread { .. } => "thread",
        })
    }
}
