//! The scheduler with many workers.
//!
//! ```text
//!   spawn, wake on a worker ──▶ its last-woken slot ──▶ its run queue ◀── thieves
//!   spawn, wake elsewhere ────▶ the inject queue ───────▶ whichever worker looks first
//! ```
//!
//! A task is always to be found in one of three places: in a queue, on a worker that polls it, or,
//! waiting, in the list of its home seat. A task that never waited was never in a list: most of those
//! that are spawned and run to their end at once cost nothing there.

mod block_in_place;
mod context;
mod crowd;
mod external_wakers;
mod gather;
mod handoff;
mod idle;
mod lazy_monitor;
mod lease;
mod lend;
mod maintenance;
mod monitor;
mod park;
mod park_state;
mod queue;
mod retreat;
mod run;
mod run_task;
mod share;
mod shutdown;
mod stats;
mod steal;
mod step_back;
mod trial;
mod worker;
mod worker_thread;

use crate::blocking::Pool;
use crate::config::{self, Config};
use crate::driver::DriverParts;
use crate::metrics::{RemoteMetrics, WorkerMetrics};
use crate::scheduler::cell_refs::{CellRefs, KeptByCells};
use crate::scheduler::inject::{Closed, InjectionQueue};
#[cfg(feature = "time")]
use crate::scheduler::timer::TimerHome;
use crate::scheduler::{RuntimeInfo, SchedulerHandle};
use crate::stall::{OsThreadId, StallState};
use crowd::Crowd;
use idle::Idle;
use lazy_monitor::LazyMonitor;
use lease::Lease;
use park_state::SharedDriver;
use retreat::Retreats;
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
use wakeful_task::{Id, JoinHandle, OwnedLink, Runnable, Schedule, TaskRef, new_task};
use worker::{ListId, TaskList, Worker};

pub(crate) use block_in_place::block_in_place;
pub(crate) use context::{defer, worker_index};
#[cfg(feature = "time")]
pub(crate) use context::{release_local, retain_local, with_own_timers};

pub(crate) struct MultiThread {
    workers: Box<[Worker]>,
    inject: CachePadded<InjectionQueue>,
    idle: CachePadded<Idle>,
    crowd: Crowd,
    retreats: Retreats,
    driver: SharedDriver,
    /// TaskList of tasks that never waited.
    unlisted: TaskList,
    /// TaskList of tasks in the `shared_tasks` list.
    shared_list: TaskList,
    shared_tasks: Mutex<SharedTasks>,
    /// Set once; workers stop at their next look.
    stopping: AtomicBool,
    /// Workers that did not stop yet; the last one clears up.
    workers_left: AtomicUsize,
    /// Seats that were given away and that nobody took yet.
    vacant: AtomicUsize,
    /// Seats whose timers are lent.
    lenders: AtomicUsize,
    /// Whether workers may keep tasks from who is idle. Not the models': nothing is handed over by it.
    keeps_tasks: std::sync::atomic::AtomicBool,
    /// How many workers stood still when the monitor looked last. As above.
    stalled: std::sync::atomic::AtomicUsize,
    /// What a sitter's sections need, depending on whether its seat can be taken from it.
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

/// Tasks that waited first when their poller had no seat.
#[derive(Default)]
struct SharedTasks {
    tasks: List<OwnedLink>,
    /// Tasks that are being polled, or ended, by threads without a seat.
    detached: Vec<TaskRef>,
    /// Tasks that such threads ended, and left to the seats in whose lists they are.
    ended_elsewhere: u32,
    /// The runtime has shut down: there are no lists any more.
    cleared: bool,
}

impl SharedTasks {
    /// `task` is in the hands of no seatless thread any more, if it was.
    fn remove_detached(&mut self, task: TaskRef) {
        if let Some(at) = self.detached.iter().position(|&detached| detached == task) {
            self.detached.swap_remove(at);
        }
    }
}

// SAFETY: the list is behind its lock, the homes point back to this very struct; all else is shareable.
unsafe impl Send for MultiThread {}
// SAFETY: as above.
unsafe impl Sync for MultiThread {}

impl KeptByCells for MultiThread {
    fn cell_refs(&self) -> &CellRefs {
        &self.refs
    }
}

/// Makes a scheduler and starts its workers.
pub(crate) fn start(
    workers: usize,
    config: Config,
    pool: Arc<Pool>,
    info: RuntimeInfo,
    driver: DriverParts,
) -> io::Result<Arc<MultiThread>> {
    if config.stall.is_watched() {
        // Before the workers are there, it takes no time.
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
    /// A scheduler whose seats are all empty.
    fn new(
        workers: usize,
        config: Config,
        pool: Arc<Pool>,
        info: RuntimeInfo,
        driver: SharedDriver,
    ) -> Arc<MultiThread> {
        // Loom wants the same decisions in each run.
        let seeds =
            if cfg!(wakeful_loom) { FastRng::from_seed(1) } else { FastRng::from_entropy() };
        Arc::new_cyclic(|weak| {
            let this = weak.as_ptr();
            let worker = |index| {
                let rng = FastRng::from_seed(seeds.next_u64());
                Worker::new(this, (index, workers), rng, &config)
            };
            MultiThread {
                workers: (0..workers).map(worker).collect(),
                inject: CachePadded::new(InjectionQueue::new()),
                idle: CachePadded::new(Idle::new(workers)),
                crowd: Crowd::new(),
                retreats: Retreats::new(),
                driver,
                unlisted: TaskList::new(this, ListId::Unlisted),
                shared_list: TaskList::new(this, ListId::Shared),
                shared_tasks: Mutex::default(),
                stopping: AtomicBool::new(false),
                workers_left: AtomicUsize::new(workers),
                vacant: AtomicUsize::new(0),
                lenders: AtomicUsize::new(0),
                keeps_tasks: config.stall.hands_off.into(),
                stalled: 0.into(),
                light_fence: if config.stall.is_watched() {
                    LightFence::new()
                } else {
                    LightFence::unpaired()
                },
                stalls: StallState::new(config.stall.clone()),
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
        // SAFETY: `admit` takes the reference that keeps the home valid before the task gets anywhere;
        // the future is `Send`.
        let (runnable, join) = unsafe { new_task(future, self.unlisted.as_ptr(), id, spawned_at) };
        self.admit(runnable);
        join
    }

    /// Takes a new task in. Not generic, so that a spawn's code is small.
    fn admit(self: &Arc<Self>, runnable: Runnable) {
        config::call_for(&self.config.hooks.spawn, &runnable);
        let Some(runnable) = context::spawn_local(self, runnable) else { return };
        CellRefs::take(self, 1);
        RemoteMetrics::inc(&self.remote.spawned);
        if self.is_stopping() {
            self.cancel(runnable);
        } else {
            self.push_remote(runnable);
        }
    }

    /// Puts an entry where any worker finds it, and sees to it that one looks.
    fn push_remote(&self, runnable: Runnable) {
        match self.inject.push(runnable) {
            Ok(()) => self.notify_parked(),
            Err(Closed(runnable)) => self.cancel(runnable),
        }
    }

    /// Wakes a sleeping worker unless one searches already.
    fn notify_parked(&self) {
        if let Some(index) = self.idle.worker_to_notify() {
            self.workers[index].park_state.unpark(&self.driver);
        }
    }

    /// A worker stops searching: another one searches if there is something to be found.
    fn end_search(&self) {
        if self.idle.end_search() && self.has_work() {
            self.notify_parked();
        }
    }

    /// Has every seat free what is left of its tasks that ended elsewhere: one that sleeps would not.
    #[cold]
    fn wake_for_ended(&self) {
        for worker in self.workers.iter().filter(|worker| worker.has_ended()) {
            worker.park_state.unpark(&self.driver);
        }
    }

    /// Whether somebody should be called, for something that is not in the queue of seat `index`.
    fn has_work_besides(&self, index: usize) -> bool {
        let mut others = self.workers.iter().enumerate().filter(|&(other, _)| other != index);
        !self.inject.is_empty()
            || others.any(|(_, worker)| self.should_call_for(worker, worker.queue.len()))
    }

    /// Whether somebody should be called.
    fn has_work(&self) -> bool {
        let mut workers = self.workers.iter();
        !self.inject.is_empty()
            || workers.any(|worker| self.should_call_for(worker, worker.queue.len()))
    }

    /// Whether there is work for which somebody should be called even if no CPU is free.
    fn has_work_for_all(&self) -> bool {
        !self.inject.is_empty() || self.workers.iter().any(Worker::is_worth_a_cpu)
    }

    /// Whether a worker that looks around would find something.
    fn has_visible_work(&self) -> bool {
        !self.inject.is_empty() || self.workers.iter().any(Worker::is_worth_taking)
    }

    fn new_lease(&self) -> Arc<Lease> {
        let needs_os_id = self.stalls.config.is_watched() && !cfg!(wakeful_loom);
        Lease::new(self.light_fence, needs_os_id.then(OsThreadId::current).flatten())
    }

    /// Has a thread of the pool run `work`, which is to sit on a seat.
    fn submit_worker(self: &Arc<Self>, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        self.pool.submit_worker(work, &|| Arc::new(SchedulerHandle::MultiThread(self.clone())))
    }

    /// Leaves a timer of a seat's, which nobody waits for any more, to its sitter.
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

// SAFETY: a home is a part of `MultiThread`, which the cell's reference keeps; `release_cell` gives it back.
unsafe impl Schedule for TaskList {
    unsafe fn schedule(home: NonNull<TaskList>, runnable: Runnable) {
        // SAFETY: the entry we hold keeps the task, and the task its home.
        let scheduler = unsafe { home.as_ref() }.scheduler;
        // On a worker of this runtime the thread keeps `MultiThread`; elsewhere nothing might once the
        // entry is in the queue.
        let Some(runnable) = context::schedule_local(scheduler, runnable) else { return };
        let _keep_scheduler = runnable.retain();
        // SAFETY: the task, which we hold a reference to, keeps it.
        let scheduler = unsafe { &*scheduler };
        RemoteMetrics::inc(&scheduler.remote.schedules);
        scheduler.push_remote(runnable);
    }

    unsafe fn release_cell(home: NonNull<TaskList>) {
        // SAFETY: valid up to here by the reference that is given back.
        let scheduler = unsafe { home.as_ref() }.scheduler;
        if !context::release_local(scheduler) {
            // SAFETY: the cell's reference is ours.
            unsafe { CellRefs::give_back(scheduler, 1) };
        }
    }
}
