//! A seat: all that a worker owns, for whichever thread sits on it.
//!
//! Threads come and go; the queue, the list of tasks, the counters stay. Only the sitter touches the
//! core of a seat, and only inside a **core section** ([`WorkerThread::enter`](super::sitter::WorkerThread::enter)),
//! in which no user code runs: no poll, no drop of a future or output, no waker. So between two
//! sections nothing of the sitter's refers to the core, and the seat can pass to another thread.

use super::MultiThread;
use super::gather::Gathered;
use super::lease::LeaseSlot;
use super::park_state::ParkState;
use super::queue::{QueueOwner, RunQueue, run_queue};
use super::retreat::Retreat;
use super::share::{Haul, Load};
use super::stats::{LIFO_STREAK_MIN, PollStats};
use super::step_back::STEPS_BACK_FOR;
use super::trial::Trial;
use crate::config::Config;
use crate::metrics::WorkerMetrics;
use crate::scheduler::cell_refs::RefBag;
use crate::scheduler::doubling::Doubling;
use crate::scheduler::luck::Luck;
use crate::timers::{LentTimers, WorkerTimerInbox, WorkerTimers};
use std::collections::VecDeque;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::CachePadded;
use wakeful_base::FastRng;
use wakeful_base::list::List;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering::*};
use wakeful_task::{CompletedTask, Header, Id, OwnedLink, Runnable, TaskRef};

/// After how many tasks that ended elsewhere than on their seats these are woken to free the memory.
pub(super) const ENDED_ELSEWHERE_MAX: u32 = 64;

pub(super) struct Worker {
    pub(super) queue: RunQueue,
    pub(super) load: Load,
    pub(super) park_state: ParkState,
    /// Written in each turn, so not beside what others read.
    pub(super) metrics: CachePadded<WorkerMetrics>,
    /// Where the tasks in this seat's list are at home. Read by everybody who wakes one of them.
    pub(super) task_list: CachePadded<TaskList>,
    /// Tasks of this seat's list that ended elsewhere.
    ended: AtomicPtr<Header>,
    pub(super) lease_slot: LeaseSlot,
    /// A thread is on its way that will take the seat if it is still stuck.
    pub(super) standby_called: AtomicBool,
    pub(super) wake_stamp: WakeStamp,
    pub(super) core: CachePadded<UnsafeCell<WorkerCore>>,
    /// This seat's timers while its sitter sleeps.
    pub(super) lent_timers: LentTimers,
    /// Timers of this seat's that sleepers elsewhere want no more. Dropped after `core` and
    /// `lent_timers`, as fields are in their order: those wheels may still point to what is in here.
    pub(super) left_timers: WorkerTimerInbox,
}

// SAFETY: `core` is the sitter's alone, all else is made for sharing.
unsafe impl Sync for Worker {}
// SAFETY: as above.
unsafe impl Send for Worker {}

/// What only the sitter touches.
pub(super) struct WorkerCore {
    pub(super) queue: QueueOwner,
    /// The task woken last, which runs next: what it needs is in the cache.
    pub(super) lifo: Option<Runnable>,
    pub(super) lifo_enabled: bool,
    /// Tasks that wait, or run and have waited before: those that never waited are in a queue.
    pub(super) owned: List<OwnedLink>,
    /// The task that ended here last, for reports.
    pub(super) ending: Option<(Id, &'static Location<'static>)>,
    pub(super) refs: RefBag,
    /// Tasks that gave way, to be queued after a look at the driver.
    pub(super) yielded: Vec<Runnable>,
    /// As `yielded`, for wakers of something else than the task under way.
    pub(super) deferred: VecDeque<Waker>,
    /// Wakers that the driver or timers had to call, and that are somebody else's code.
    pub(super) external_wakers: VecDeque<Waker>,
    /// Turns until the driver and clearing up are due.
    pub(super) until_maintenance: u32,
    /// Turns until the inject queue goes before the own one.
    pub(super) until_inject: u32,
    pub(super) poll_stats: PollStats,
    pub(super) trial: Trial,
    pub(super) retreat: Retreat,
    /// What the sitter took from another worker when it last had nothing to do.
    pub(super) haul: Option<Haul>,
    pub(super) searching: bool,
    pub(super) luck: Luck,
    pub(super) rng: FastRng,
    /// Tasks of other seats that ended here.
    pub(super) ended_elsewhere: u32,
    pub(super) timers: WorkerTimers,
    pub(super) gathered: Gathered,
    /// How long the sitter steps back where there is a crowd.
    pub(super) steps_back_for: Doubling<Duration>,
    /// The sitter comes from a wait in the driver, where another look would find nothing new, or has stepped back from it,
    /// and what is there is for others.
    pub(super) skip_look: bool,
    /// When the sitter woke up, if it has done nothing since: the clock need not be read again.
    pub(super) just_woke: Option<Instant>,
    /// When the next look at the driver is due.
    pub(super) next_look: Instant,
    /// From when on somebody may be called for what is worth taking, and no more.
    pub(super) next_backlog: Option<Instant>,
}

/// When a seat's sitter woke up or sat down last, and how far it was then. Written by the sitter before it runs anything, so who sees it in user code
/// sees this too, or what is later.
pub(super) struct WakeStamp {
    epoch: Instant,
    at_ns: AtomicU64,
    progress: AtomicU64,
}

impl WakeStamp {
    fn new() -> WakeStamp {
        WakeStamp {
            epoch: Instant::now(),
            at_ns: AtomicU64::new(0),
            progress: AtomicU64::new(u64::MAX),
        }
    }

    pub(super) fn record(&self, progress: u64, now: Instant) {
        let at_ns = now.saturating_duration_since(self.epoch).as_nanos() as u64;
        self.at_ns.store(at_ns, Relaxed);
        self.progress.store(progress, Release);
    }

    /// For who sees the sitter in user code: since when it has been, if that is the first it runs since it woke up.
    pub(super) fn user_code_since(&self, progress: u64) -> Option<Instant> {
        let steps = progress.checked_sub(self.progress.load(Acquire))?;
        (steps <= 1).then(|| self.epoch + Duration::from_nanos(self.at_ns.load(Relaxed)))
    }
}

/// Where a task's entries go.
pub(super) struct TaskList {
    pub(super) scheduler: *const MultiThread,
    pub(super) list: ListId,
}

/// Which list, if any, a task is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListId {
    /// None: it never waited, and is found through its queue entry.
    Unlisted,
    /// The list of the seat with this index.
    Worker(usize),
    /// The common list, for tasks whose poller had lost its seat.
    Shared,
}

impl WorkerCore {
    /// Whether nothing is to be done that others cannot see.
    pub(super) fn is_idle(&self) -> bool {
        self.lifo.is_none() && self.queue.held_back() == 0 && !self.has_deferred()
    }

    /// A turn had so many polls after its first: many of them are more than one turn.
    #[inline]
    pub(super) fn count_streak(&mut self, polls: u32) {
        let more_turns = polls / (1 + LIFO_STREAK_MIN);
        self.until_maintenance = self.until_maintenance.saturating_sub(more_turns);
        self.until_inject = self.until_inject.saturating_sub(more_turns).max(1);
    }

    /// Puts all tasks in reach of other workers. False if there are none.
    pub(super) fn publish_all(&mut self, queue: &RunQueue) -> bool {
        let WorkerCore { queue: owner, lifo, yielded, .. } = self;
        let has_any = lifo.is_some() || owner.held_back() > 0 || !yielded.is_empty();
        if let Some(runnable) = lifo.take() {
            owner.push(queue, runnable);
        }
        owner.share_batch(queue);
        owner.push_all(queue, yielded);
        has_any
    }

    /// Whether something waits for a look at the driver, or for what comes after it.
    pub(super) fn has_deferred(&self) -> bool {
        !(self.yielded.is_empty() && self.deferred.is_empty() && self.external_wakers.is_empty())
    }
}

impl TaskList {
    pub(super) fn new(scheduler: *const MultiThread, list: ListId) -> TaskList {
        TaskList { scheduler, list }
    }

    pub(super) fn as_ptr(&self) -> NonNull<TaskList> {
        NonNull::from(self)
    }
}

impl Worker {
    pub(super) fn new(
        scheduler: *const MultiThread,
        (index, workers): (usize, usize),
        rng: FastRng,
        config: &Config,
    ) -> Worker {
        let (queue, mut owner) = run_queue();
        if !config.stall.hands_off {
            owner.hold_nothing_back();
        }
        Worker {
            queue,
            load: Load::new(),
            park_state: ParkState::new(),
            metrics: CachePadded::new(WorkerMetrics::default()),
            task_list: CachePadded::new(TaskList::new(scheduler, ListId::Worker(index))),
            ended: AtomicPtr::new(ptr::null_mut()),
            lent_timers: LentTimers::new(),
            left_timers: WorkerTimerInbox::new(),
            lease_slot: LeaseSlot::new(),
            standby_called: AtomicBool::new(false),
            wake_stamp: WakeStamp::new(),
            core: CachePadded::new(UnsafeCell::new(WorkerCore {
                queue: owner,
                lifo: None,
                lifo_enabled: config.lifo_slot,
                owned: List::new(),
                ending: None,
                refs: RefBag::new(),
                yielded: Vec::new(),
                deferred: VecDeque::new(),
                external_wakers: VecDeque::new(),
                until_maintenance: config.event_interval,
                until_inject: 1,
                poll_stats: PollStats::new(config.global_queue_interval),
                trial: Trial::new(workers),
                retreat: Retreat::new(),
                haul: None,
                searching: false,
                luck: Luck::new(),
                rng,
                ended_elsewhere: 0,
                timers: WorkerTimers::new(index),
                gathered: Gathered::default(),
                steps_back_for: Doubling::new(STEPS_BACK_FOR),
                skip_look: false,
                just_woke: None,
                next_look: Instant::now(),
                next_backlog: None,
            })),
        }
    }

    /// Whether who has nothing to do should take from the queue.
    pub(super) fn is_worth_taking(&self) -> bool {
        self.load.is_worth_taking(self.queue.len())
    }

    /// Whether somebody should be called to take from the queue even if no CPU is free.
    pub(super) fn is_worth_a_cpu(&self) -> bool {
        self.load.is_worth_a_cpu(self.queue.len())
    }

    /// Changes whenever the sitter has done something.
    pub(super) fn progress(&self) -> u64 {
        self.metrics.polls.get() + self.metrics.parks.get()
    }

    /// Runs `f` with the core of a seat on which nobody sits. No user code may run in it.
    pub(super) fn with_vacant_core<R>(&self, f: impl FnOnce(&mut WorkerCore) -> R) -> Option<R> {
        // SAFETY: nobody sits here until this returns.
        self.lease_slot.while_vacant(|| self.core.with_mut(|core| f(unsafe { &mut *core })))
    }

    /// Leaves a complete task for the sitter to take out of its list. From any thread.
    pub(super) fn push_ended(&self, done: CompletedTask) {
        let task = done.into_raw();
        let mut top = self.ended.load(Relaxed);
        loop {
            // SAFETY: the scheduler's reference, which we pass on, keeps the task; being complete it is
            // in no queue, so the link is free.
            unsafe { task.as_ref() }.queue_next().store(top, Relaxed);
            match self.ended.compare_exchange_weak(top, task.as_ptr(), Release, Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        !self.ended.load(Relaxed).is_null()
    }

    /// Takes all tasks that ended elsewhere out of the list. What is returned is to be dropped outside
    /// of the core section.
    pub(super) fn take_ended(&self, core: &mut WorkerCore) -> EndedTasks {
        let first = self.ended.swap(ptr::null_mut(), Acquire);
        let mut at = first;
        while let Some(task) = TaskRef::new(at) {
            // SAFETY: what is in the stack is complete, alive, and in our list.
            unsafe {
                core.owned.remove(task);
                at = task.as_ref().queue_next().load(Relaxed);
            }
        }
        EndedTasks(first)
    }
}

/// Complete tasks, linked through `queue_next`, whose references go when this is dropped.
pub(super) struct EndedTasks(*mut Header);

impl Drop for EndedTasks {
    fn drop(&mut self) {
        while let Some(task) = TaskRef::new(self.0) {
            // SAFETY: `push_ended` took these references apart, once each.
            unsafe {
                self.0 = task.as_ref().queue_next().load(Relaxed);
                drop(CompletedTask::from_raw(task));
            }
        }
    }
}
