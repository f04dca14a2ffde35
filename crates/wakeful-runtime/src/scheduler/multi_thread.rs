//! The multi-thread scheduler.
//!
//! A [`Worker`] is a run queue, a LIFO slot, a list of waiting tasks and a timer wheel (Go's P). A
//! [`WorkerThread`](worker_thread::WorkerThread) is the OS thread that runs a worker now (Go's M).
//! It may do so as long as it holds the worker's [`Lease`], which another thread can revoke.
//!
//! # Data flow
//!
//! ```text
//!  1 spawn, wake   on a worker: LIFO slot; its old task moves to the run queue  context, run_task
//!                  elsewhere: injection queue                                   ../inject
//!  2 after a push  unpark a worker if none searches; more for long polls        notify, idle
//!  3 worker loop   every `event_interval` polls: stop flag, maintenance         run
//!  4               every n polls: the injection queue first                     run, stats
//!  5               LIFO slot, then run queue                                    run, queue
//!  6               then a batch from the injection queue                        steal
//!  7 run a task    poll it, then tasks from the LIFO slot (a LIFO streak)       run_task
//!                  first `Pending`: the task enters the worker's task list      run_task, worker
//!                  `Ready`: store the output, wake the `JoinHandle`             run_task
//!  8 no task left  steal, from a random worker on; spin, with driver looks      steal
//!  9 still none    register as parked, check all queues once more, then
//!                  wait: in the driver if no other worker does                  park, park_state
//! 10 unparked      search; the last searcher that finds work notifies another   steal, idle
//! 11 event, timer  wake the task as in 1; then run wakers that are user code    maintenance
//! 12 monitor       same user code at two looks: suspend the lease, publish      monitor
//!                  the worker's tasks for other workers                         handoff
//! 13 hand-off      if only the lease holder could serve the rest: a standby     handoff
//!                  thread revokes the lease and runs the worker                 lease
//! 14 stop          set the flag, unpark all; the last worker drops all tasks    shutdown
//! ```
//!
//! A task is always in one of three places: in a queue, on the thread that polls it, or, while it
//! waits, in a task list. A task enters a list after its first poll that returns `Pending`, so
//! tasks that end in their first poll never enter one.
//!
//! # Which file to open
//!
//! | question | file |
//! |---|---|
//! | what belongs to a worker, what to its thread | [`worker`], [`worker_thread`] |
//! | what a worker does next, how a task is polled | [`run`], [`run_task`] |
//! | how tasks get to idle workers | [`queue`], [`steal`], [`notify`], [`poll_estimate`] |
//! | how a worker parks, which one is unparked | [`park`], [`park_state`], [`idle`] |
//! | driver, timers, wakers that are user code | [`maintenance`], [`external_wakers`] |
//! | what a stalled poll leads to | [`monitor`], [`handoff`], [`lease`], [`lazy_monitor`] |
//! | calls from tasks into the scheduler | [`context`], [`mod@block_in_place`] |
//! | how a census reaches all tasks | [`census`] |
//! | shutdown, and tasks polled without a lease | [`shutdown`] |

mod block_in_place;
mod census;
mod context;
mod external_wakers;
mod handoff;
mod idle;
mod lazy_monitor;
mod lease;
mod maintenance;
mod monitor;
mod notify;
mod park;
mod park_state;
mod poll_estimate;
mod queue;
mod run;
mod run_task;
mod shutdown;
mod stats;
mod steal;
mod worker;
mod worker_thread;

use crate::blocking::{Pool, ThreadContext};
use crate::config::Config;
use crate::driver::DriverParts;
use crate::metrics::{RemoteMetrics, WorkerMetrics};
use crate::scheduler::cell_refs::{CellRefs, KeptByCells, OwnCore};
use crate::scheduler::inject::{Closed, InjectionQueue};
#[cfg(feature = "time")]
use crate::scheduler::timer::TimerHome;
use crate::scheduler::{RuntimeInfo, SchedulerHandle};
use crate::stall::{OsThread, StallState};
use idle::Idle;
use lazy_monitor::LazyMonitor;
use lease::Lease;
use park_state::SharedDriver;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use wakeful_base::asymmetric_fence::{self, LightFence};
use wakeful_base::list::List;
use wakeful_base::sync::Mutex;
use wakeful_base::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use wakeful_base::{CachePadded, FastRng};
use wakeful_task::{Id, JoinHandle, OwnedLink, Runnable, Schedule, TaskRef, new_task, recording};
use worker::{ListId, TaskList, Worker, WorkerCore};
use worker_thread::with_core_of;

pub(crate) use block_in_place::block_in_place;
pub(crate) use context::{defer, worker_index};

pub(crate) struct MultiThread {
    workers: Box<[Worker]>,
    inject: CachePadded<InjectionQueue>,
    idle: CachePadded<Idle>,
    driver: SharedDriver,
    /// The [`TaskList`] of tasks that have never waited.
    unlisted: TaskList,
    /// The [`TaskList`] of tasks in `shared_tasks`.
    shared_list: TaskList,
    shared_tasks: Mutex<SharedTasks>,
    /// Set once. Workers stop at their next maintenance.
    stopping: AtomicBool,
    /// Workers that have not stopped yet. The last one to stop clears up.
    workers_left: AtomicUsize,
    /// Workers whose lease was released in `block_in_place` and not acquired again yet.
    vacant: AtomicUsize,
    /// The fence of core sections: none if no lease can be revoked.
    light_fence: LightFence,
    pub(crate) stalls: StallState,
    lazy_monitor: LazyMonitor,
    refs: CellRefs,
    remote: RemoteMetrics,
    config: Config,
    pub(crate) pool: Arc<Pool>,
    pub(crate) info: RuntimeInfo,
    #[cfg(feature = "time")]
    pub(crate) timer_home: TimerHome,
}

/// The tasks whose poller had no lease when they first waited, and what else such pollers leave.
#[derive(Default)]
struct SharedTasks {
    tasks: List<OwnedLink>,
    /// Tasks that are being polled, or ended, by threads whose lease was revoked or released.
    detached: Vec<Detached>,
    /// The runtime has shut down: all lists are gone.
    cleared: bool,
}

/// A task that is being polled, or ended, without a lease.
struct Detached {
    task: TaskRef,
    /// The lease of its thread, if that was revoked.
    revoked: Option<Arc<Lease>>,
}

impl SharedTasks {
    fn is_detached(&self, task: TaskRef) -> bool {
        self.detached.iter().any(|detached| detached.task == task)
    }

    /// Removes `task` from the detached tasks, if it is one of them.
    fn remove_detached(&mut self, task: TaskRef) {
        if let Some(at) = self.detached.iter().position(|detached| detached.task == task) {
            self.detached.swap_remove(at);
        }
    }
}

// SAFETY: the intrusive list and the task pointers are only used under the lock of `shared_tasks`.
// The `TaskList`s and `timer_home` point back to this struct, which they are part of. All other
// fields are `Send` and `Sync`.
unsafe impl Send for MultiThread {}
// SAFETY: as for `Send`.
unsafe impl Sync for MultiThread {}

impl KeptByCells for MultiThread {
    fn cell_refs(&self) -> &CellRefs {
        &self.refs
    }

    #[inline]
    fn with_own_core<R>(scheduler: *const Self, f: impl FnOnce(OwnCore<'_>) -> R) -> R {
        with_core_of(scheduler, |entered| match entered {
            Some((_, mut core)) => {
                let WorkerCore { refs, timers, .. } = &mut *core;
                f(Some((refs, timers)))
            }
            None => f(None),
        })
    }
}

/// Creates a scheduler and starts its workers.
pub(crate) fn start(
    workers: usize,
    config: Config,
    pool: Arc<Pool>,
    info: RuntimeInfo,
    driver: DriverParts,
) -> io::Result<Arc<MultiThread>> {
    if config.stall.is_watched() {
        // While the process has one thread this is cheap.
        asymmetric_fence::prepare();
    }
    let driver = SharedDriver::new(driver.driver, driver.waker);
    let scheduler = MultiThread::new(workers, config, pool, info, driver);
    if scheduler.stalls.config.is_watched() {
        scheduler.stalls.monitor.prepare();
    }
    for index in 0..workers {
        if let Err(error) = worker_thread::start(&scheduler, index) {
            for _ in index..workers {
                scheduler.worker_stopped();
            }
            scheduler.stop();
            return Err(error);
        }
    }
    if scheduler.stalls.config.is_watched() && !scheduler.lazy_monitor.is_enabled() {
        if let Err(error) = monitor::start(&scheduler) {
            scheduler.stop();
            return Err(error);
        }
    }
    Ok(scheduler)
}

impl MultiThread {
    /// Creates a scheduler all of whose workers are vacant.
    fn new(
        workers: usize,
        config: Config,
        pool: Arc<Pool>,
        info: RuntimeInfo,
        driver: SharedDriver,
    ) -> Arc<MultiThread> {
        // Loom models need the same decisions in each run.
        let seeds = match &info.seeds {
            Some(seeds) => FastRng::from_seed(seeds.next()),
            None if cfg!(wakeful_loom) => FastRng::from_seed(1),
            None => FastRng::from_entropy(),
        };
        Arc::new_cyclic(|weak| {
            let this = weak.as_ptr();
            let worker = |index| {
                let rng = FastRng::from_seed(seeds.next_u64());
                Worker::new(this, index, rng, &config)
            };
            MultiThread {
                workers: (0..workers).map(worker).collect(),
                inject: CachePadded::new(InjectionQueue::new()),
                idle: CachePadded::new(Idle::new(workers)),
                driver,
                unlisted: TaskList::new(this, ListId::Unlisted),
                shared_list: TaskList::new(this, ListId::Shared),
                shared_tasks: Mutex::default(),
                stopping: AtomicBool::new(false),
                workers_left: AtomicUsize::new(workers),
                vacant: AtomicUsize::new(0),
                light_fence: if config.stall.is_watched() {
                    LightFence::new()
                } else {
                    LightFence::unpaired()
                },
                stalls: StallState::new(config.stall.clone(), info.id.get()),
                lazy_monitor: LazyMonitor::new(workers, &config, &pool),
                refs: CellRefs::new(),
                remote: RemoteMetrics::default(),
                config,
                pool,
                info,
                #[cfg(feature = "time")]
                timer_home: TimerHome::MultiThread(this),
            }
        })
    }

    /// Spawns a task.
    pub(crate) fn spawn<F>(
        self: &Arc<Self>,
        future: F,
        id: Id,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // SAFETY: the home is a field of `self`, which the caller keeps until `admit` has taken a
        // reference for the new cell; that reference is given back in `release_cell`. The future
        // and its output are `Send`.
        let (runnable, join) = unsafe { new_task(future, self.unlisted.as_ptr(), id, spawned_at) };
        self.admit(runnable);
        join
    }

    /// Queues a new task. Not generic, so that each spawn compiles to little code.
    fn admit(self: &Arc<Self>, runnable: Runnable) {
        if recording::has_observers() {
            self.config.observe_spawn(&runnable);
        }
        let Some(runnable) = context::spawn_local(self, runnable) else { return };
        CellRefs::take(self, 1);
        RemoteMetrics::inc(&self.remote.spawned);
        if self.is_stopping() {
            self.cancel(runnable);
        } else {
            self.push_remote(runnable);
        }
    }

    /// Pushes an entry onto the injection queue and makes sure that a worker looks there.
    fn push_remote(&self, runnable: Runnable) {
        match self.inject.push(runnable) {
            Ok(()) => self.notify_parked(),
            Err(Closed(runnable)) => self.cancel(runnable),
        }
    }

    /// Unparks a worker of whose tasks a batch has ended elsewhere, so that it frees their memory.
    ///
    /// A worker that is awake frees them during maintenance, or before it parks. If it has done the
    /// latter and is not parked yet, the next batch unparks it.
    #[cold]
    fn wake_for_ended(&self, index: usize) {
        let park_state = &self.workers[index].park_state;
        if park_state.is_parked() {
            park_state.unpark(&self.driver);
        }
    }

    /// Returns whether a worker that searches would find a task. Clears the bits of workers without
    /// tasks.
    fn has_visible_work(&self) -> bool {
        let has_tasks = |index: usize| self.idle.has_tasks(index, &self.workers[index].queue);
        !self.inject.is_empty() || self.idle.queued().any(has_tasks)
    }

    fn new_lease(&self) -> Arc<Lease> {
        let needs_os_thread = self.stalls.config.is_watched() && !cfg!(wakeful_loom);
        Lease::new(self.light_fence, needs_os_thread.then(OsThread::current).flatten())
    }

    /// Runs `work`, which is to run a worker, on a thread of the pool.
    fn submit_worker(
        self: &Arc<Self>,
        work: Box<dyn FnOnce() + Send>,
        may_run_user_code: bool,
    ) -> io::Result<()> {
        let context =
            || -> Arc<dyn ThreadContext> { Arc::new(SchedulerHandle::MultiThread(self.clone())) };
        self.pool.submit_worker(work, &context, may_run_user_code)
    }

    /// Leaves a timer that is no longer waited for to the worker that owns it.
    #[cfg(feature = "time")]
    pub(crate) fn push_left_timer(&self, index: usize, left: wakeful_reactor::time::LeftEntry) {
        let worker = &self.workers[index];
        let is_batch_full = worker.left_timers.0.push(left);
        if is_batch_full {
            worker.park_state.unpark(&self.driver);
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }

    pub(crate) fn worker_count(&self) -> usize {
        self.workers.len()
    }

    pub(crate) fn worker_metrics(&self, worker: usize) -> &WorkerMetrics {
        &self.workers[worker].metrics
    }

    pub(crate) fn local_queue_depth(&self, worker: usize) -> usize {
        self.workers[worker].queue.len()
    }

    pub(crate) fn remote_metrics(&self) -> &RemoteMetrics {
        &self.remote
    }

    pub(crate) fn inject_depth(&self) -> usize {
        self.inject.len()
    }
}

// SAFETY: each cell has one reference, taken in `admit` and given back in `release_cell`. It keeps
// the `MultiThread`, of which the home is a part.
unsafe impl Schedule for TaskList {
    unsafe fn schedule(home: NonNull<TaskList>, runnable: Runnable) {
        // SAFETY: the entry keeps the task alive, and the task's reference keeps its home.
        let scheduler = unsafe { home.as_ref() }.scheduler;
        // SAFETY: as above; `runnable` is still here.
        unsafe { &*scheduler }.config.note_scheduled(&runnable);
        // A worker thread of this runtime keeps `MultiThread` itself. On any other thread the task
        // might be polled and freed as soon as the entry is queued, so a reference to the task has
        // to keep it.
        let Some(runnable) = context::schedule_local(scheduler, runnable) else { return };
        let _keep_scheduler = runnable.retain();
        // SAFETY: `_keep_scheduler` keeps the task, and the task's reference keeps the scheduler.
        let scheduler = unsafe { &*scheduler };
        RemoteMetrics::inc(&scheduler.remote.schedules);
        scheduler.push_remote(runnable);
    }

    unsafe fn release_cell(home: NonNull<TaskList>) {
        // SAFETY: the cell's reference, given back below, keeps the home until then.
        let scheduler = unsafe { home.as_ref() }.scheduler;
        // SAFETY: the caller passes the cell's reference on, and it is given back once, here.
        unsafe { CellRefs::give_one(scheduler) };
    }
}
