//! A worker: run queue, LIFO slot, task list, timers and counters, for the thread that runs it.
//!
//! Threads come and go; the worker stays. Only the thread that holds the lease touches the worker's
//! core, and only in a **core section**
//! ([`WorkerThread::enter`](super::worker_thread::WorkerThread::enter)), in which no user code
//! runs: no poll, no drop of a future or output, no waker. Between two sections the thread
//! therefore has no reference into the core, and the worker can pass to another thread.

use super::MultiThread;
use super::lease::LeaseSlot;
use super::park_state::ParkState;
use super::poll_estimate::PollEstimate;
use super::queue::{QueueOwner, RunQueue, run_queue};
use super::stats::{LIFO_STREAK_MIN, PollStats};
use crate::config::Config;
use crate::metrics::WorkerMetrics;
use crate::scheduler::cell_refs::RefBag;
use crate::spin_budget::SpinBudget;
use crate::task_walk::ListWalk;
use crate::timers::{WorkerTimerInbox, WorkerTimers};
use std::collections::VecDeque;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::CachePadded;
use wakeful_base::FastRng;
use wakeful_base::list::List;
use wakeful_base::sync::UnsafeCell;
use wakeful_base::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering::*};
use wakeful_task::{CompletedTask, Header, Id, OwnedLink, Runnable, TaskRef};

/// After how many of its tasks have ended on other threads a parked worker is unparked to free
/// them. Bounds the memory that it holds back. To unpark it costs more than to free a task, so not
/// each task leads to it.
const ENDED_BATCH: u32 = 64;

pub(super) struct Worker {
    pub(super) queue: RunQueue,
    pub(super) park_state: ParkState,
    /// Read by thieves and written by every sample, so kept away from `queue`.
    pub(super) poll_estimate: CachePadded<PollEstimate>,
    /// Written for each task, so kept away from the cache lines that other workers read.
    pub(super) metrics: CachePadded<WorkerMetrics>,
    /// The home of the tasks in this worker's list. Read by every thread that wakes one of them.
    pub(super) task_list: CachePadded<TaskList>,
    /// A lock-free stack of tasks of this worker's list that ended on other threads.
    ended: AtomicPtr<Header>,
    /// How many tasks were pushed to `ended` since it was emptied. Less or more by a few if a push
    /// comes meanwhile.
    ended_len: AtomicU32,
    pub(super) lease_slot: LeaseSlot,
    /// A standby thread is on its way; it takes the worker over if the holder is still stuck.
    pub(super) standby_called: AtomicBool,
    pub(super) wake_stamp: WakeStamp,
    /// A census' walk over the core's list of tasks.
    pub(super) walk: ListWalk,
    pub(super) core: CachePadded<UnsafeCell<WorkerCore>>,
    /// Timers of this worker that were dropped on other threads. The field order matters: this
    /// field is dropped after `core`, whose wheel may point to its entries.
    pub(super) left_timers: WorkerTimerInbox,
}

// SAFETY: only the thread that holds the lease, or one that keeps it suspended or vacant, touches
// `core` (`lease.rs`). All other fields are `Sync`.
unsafe impl Sync for Worker {}
// SAFETY: all tasks in `core` and in the `ended` stack are `Send`, which `MultiThread::spawn`
// requires; the pointer in `task_list` is to the scheduler, which is `Sync`.
unsafe impl Send for Worker {}

/// The part of a worker that only the thread in a core section touches.
pub(super) struct WorkerCore {
    pub(super) queue: QueueOwner,
    /// The LIFO slot: the task woken last, which runs next, while what it needs is in the cache.
    pub(super) lifo: Option<Runnable>,
    pub(super) lifo_enabled: bool,
    /// The tasks that have waited: they wait now, or are queued or polled again.
    pub(super) owned: List<OwnedLink>,
    /// The task that ended here last, for stall reports.
    pub(super) ending: Option<(Id, &'static Location<'static>)>,
    pub(super) refs: RefBag,
    /// Tasks that yielded. They are queued after the next look at the driver.
    pub(super) yielded: Vec<Runnable>,
    /// Other deferred wakers. They are woken after the next look at the driver.
    pub(super) deferred: VecDeque<Waker>,
    /// Wakers taken from the driver or from timers that are user code.
    pub(super) external_wakers: VecDeque<Waker>,
    /// Steps of the loop until the next maintenance.
    pub(super) until_maintenance: u32,
    /// Steps of the loop until the injection queue goes before the run queue once.
    pub(super) until_inject: u32,
    pub(super) poll_stats: PollStats,
    pub(super) searching: bool,
    /// The worker has set its bit in [`Idle`](super::idle::Idle), and has not decided yet whether
    /// to notify a parked worker.
    pub(super) owes_notify: bool,
    /// Tasks from the run queue until the next sample for the poll estimate.
    pub(super) until_sample: u32,
    /// The next poll is to be sampled.
    pub(super) samples_next: bool,
    /// The worker from which the task that runs next was stolen.
    pub(super) stolen_from: Option<usize>,
    pub(super) spin_budget: SpinBudget,
    pub(super) rng: FastRng,
    pub(super) timers: WorkerTimers,
    /// When the thread woke up, if it has run nothing since. Saves a read of the clock.
    pub(super) just_woke: Option<Instant>,
    /// The earliest time of the next look at the driver.
    pub(super) next_look: Instant,
}

/// When the worker's thread last woke up, or got its lease, and the worker's progress then.
///
/// The thread writes it before it runs user code. A monitor that sees the thread in user code sees
/// this value or a later one.
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

    /// Returns since when the thread has been in user code, if that is the first user code since it
    /// woke up.
    pub(super) fn user_code_since(&self, progress: u64) -> Option<Instant> {
        let steps = progress.checked_sub(self.progress.load(Acquire))?;
        (steps <= 1).then(|| self.epoch + Duration::from_nanos(self.at_ns.load(Relaxed)))
    }
}

/// The home of a task, as its cell sees it: the scheduler, and the list that the task is in.
pub(super) struct TaskList {
    pub(super) scheduler: *const MultiThread,
    pub(super) list: ListId,
}

/// The task list that a task is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListId {
    /// None: the task has never waited, and is only reachable through its queue entry.
    Unlisted,
    /// The list of the worker with this index.
    Worker(usize),
    /// The scheduler's `shared_tasks`, for tasks whose poller had no lease when they first waited.
    Shared,
}

impl WorkerCore {
    /// Returns whether the core has nothing to do that other workers cannot see.
    pub(super) fn is_idle(&self) -> bool {
        self.lifo.is_none() && !self.has_deferred()
    }

    /// Counts a LIFO streak of `1 + streak` polls: a long one counts as several steps of the loop.
    #[inline]
    pub(super) fn count_streak(&mut self, streak: u32) {
        let more_steps = streak / (1 + LIFO_STREAK_MIN);
        self.until_maintenance = self.until_maintenance.saturating_sub(more_steps);
        self.until_inject = self.until_inject.saturating_sub(more_steps).max(1);
    }

    /// Moves all tasks to where other workers can steal them. Returns false if there are none.
    pub(super) fn publish_all(&mut self, queue: &RunQueue) -> bool {
        let WorkerCore { queue: owner, lifo, yielded, .. } = self;
        let has_any = lifo.is_some() || !yielded.is_empty();
        if let Some(runnable) = lifo.take() {
            owner.push(queue, runnable);
        }
        owner.push_all(queue, yielded);
        has_any
    }

    /// Returns whether a task or waker waits for the next look at the driver, or to be run after
    /// it.
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
        index: usize,
        rng: FastRng,
        config: &Config,
    ) -> Worker {
        let (queue, owner) = run_queue();
        Worker {
            queue,
            park_state: ParkState::new(),
            poll_estimate: CachePadded::new(PollEstimate::new()),
            metrics: CachePadded::new(WorkerMetrics::new(&config.histograms)),
            task_list: CachePadded::new(TaskList::new(scheduler, ListId::Worker(index))),
            ended: AtomicPtr::new(ptr::null_mut()),
            ended_len: AtomicU32::new(0),
            left_timers: WorkerTimerInbox::new(),
            lease_slot: LeaseSlot::new(),
            standby_called: AtomicBool::new(false),
            wake_stamp: WakeStamp::new(),
            walk: ListWalk::new(),
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
                searching: false,
                owes_notify: false,
                until_sample: 0,
                samples_next: false,
                stolen_from: None,
                spin_budget: SpinBudget::new(),
                rng,
                timers: WorkerTimers::new(index),
                just_woke: None,
                next_look: Instant::now(),
            })),
        }
    }

    /// Returns a number that changes whenever the worker's thread polls a task or parks.
    pub(super) fn progress(&self) -> u64 {
        self.metrics.polls.get() + self.metrics.parks.get()
    }

    /// Calls `f` with the core if no thread holds the lease. `f` must not run user code.
    pub(super) fn with_vacant_core<R>(&self, f: impl FnOnce(&mut WorkerCore) -> R) -> Option<R> {
        // SAFETY: `while_vacant` keeps the slot's lock, so no thread holds the lease, or can
        // acquire it, until `f` returns.
        self.lease_slot.while_vacant(|| self.core.with_mut(|core| f(unsafe { &mut *core })))
    }

    /// Leaves a completed task for this worker to take out of its list. Callable on any thread.
    ///
    /// Returns true for every 64th task that waits: the worker should then be unparked if it is
    /// parked.
    #[must_use]
    pub(super) fn push_ended(&self, done: CompletedTask) -> bool {
        let task = done.into_raw();
        let mut top = self.ended.load(Relaxed);
        loop {
            // SAFETY: `done` owns the scheduler's reference, which keeps the task alive and which
            // the stack takes over. A completed task is in no queue, so its queue link is free.
            unsafe { task.as_ref() }.queue_next().store(top, Relaxed);
            match self.ended.compare_exchange_weak(top, task.as_ptr(), Release, Relaxed) {
                Ok(_) => break,
                Err(now) => top = now,
            }
        }
        self.ended_len.fetch_add(1, Relaxed).wrapping_add(1) % ENDED_BATCH == 0
    }

    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        !self.ended.load(Relaxed).is_null()
    }

    /// Takes all tasks that ended on other threads out of the list. The caller drops the result
    /// outside the core section, since that frees tasks.
    pub(super) fn take_ended(&self, core: &mut WorkerCore) -> EndedTasks {
        self.ended_len.store(0, Relaxed);
        let first = self.ended.swap(ptr::null_mut(), Acquire);
        let mut at = first;
        while let Some(task) = TaskRef::new(at) {
            // SAFETY: the stack's references keep its tasks alive, and `push_ended` is only called
            // for tasks of this worker's list. The caller's `&mut core` gives this thread alone
            // access to the list.
            unsafe {
                core.owned.remove(task);
                at = task.as_ref().queue_next().load(Relaxed);
            }
        }
        EndedTasks(first)
    }
}

/// Completed tasks, linked through `queue_next`. Dropping this gives up a reference to each.
pub(super) struct EndedTasks(*mut Header);

impl Drop for EndedTasks {
    fn drop(&mut self) {
        while let Some(task) = TaskRef::new(self.0) {
            // SAFETY: each task in the chain carries the reference of the `CompletedTask` given to
            // `push_ended`. It becomes a `CompletedTask` again here, once, after its link is read.
            unsafe {
                self.0 = task.as_ref().queue_next().load(Relaxed);
                drop(CompletedTask::from_raw(task));
            }
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;
