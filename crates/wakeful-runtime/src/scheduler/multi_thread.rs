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
mod crowd;
mod foreign;
mod gather;
mod handoff;
mod here;
mod idle;
mod lend;
mod monitor;
mod pace;
mod queue;
mod rest;
mod retreat;
mod search;
mod seat;
mod share;
mod shutdown;
mod sitter;
mod sleep;
mod stay;
mod step_back;
mod trial;
mod turn;
mod upkeep;
mod watch;
mod worker;

use crate::blocking::Pool;
use crate::config::{self, Config};
use crate::driver::DriverParts;
use crate::metrics::{RemoteMetrics, WorkerMetrics};
use crate::scheduler::cell_refs::{CellRefs, KeptByCells};
use crate::scheduler::inject::{Closed, InjectQueue};
#[cfg(feature = "time")]
use crate::scheduler::timer::TimerHome;
use crate::scheduler::{RuntimeInfo, SchedulerHandle};
use crate::stall::{StallWatch, ThreadName};
use crowd::Crowd;
use idle::Idle;
use retreat::Retreats;
use seat::{Home, Place, Seat};
use sleep::SharedDriver;
use stay::Stay;
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
use watch::Watch;

pub(crate) use block_in_place::block_in_place;
pub(crate) use here::{defer, worker_index};
#[cfg(feature = "time")]
pub(crate) use here::{release_local, retain_local, with_own_timers};

pub(crate) struct MultiThread {
    seats: Box<[Seat]>,
    inject: CachePadded<InjectQueue>,
    idle: CachePadded<Idle>,
    crowd: Crowd,
    retreats: Retreats,
    driver: SharedDriver,
    /// Home of tasks that never waited.
    fresh: Home,
    /// Home of tasks in the `common` list.
    common_home: Home,
    common: Mutex<CommonTasks>,
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
    standing: std::sync::atomic::AtomicUsize,
    /// What a sitter's sections need, depending on whether its seat can be taken from it.
    light_fence: LightFence,
    pub(crate) stalls: StallWatch,
    watch: Watch,
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
struct CommonTasks {
    tasks: List<OwnedLink>,
    /// Tasks that are being polled, or ended, by threads without a seat.
    away: Vec<TaskRef>,
    /// Tasks that such threads ended, and left to the seats in whose lists they are.
    ended_elsewhere: u32,
    /// The runtime has shut down: there are no lists any more.
    cleared: bool,
}

impl CommonTasks {
    /// `task` is in the hands of no seatless thread any more, if it was.
    fn come_back(&mut self, task: TaskRef) {
        if let Some(at) = self.away.iter().position(|&away| away == task) {
            self.away.swap_remove(at);
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
    let shared = MultiThread::new(workers, config, pool, info, driver);
    if shared.stalls.config.is_watched() {
        shared.stalls.monitor.prepare();
    }
    for index in 0..workers {
        if let Err(error) = sitter::start(&shared, index) {
            for _ in index..workers {
                shared.worker_stopped();
            }
            shared.stop();
            return Err(error);
        }
    }
    if shared.stalls.config.is_watched() && !shared.watch.is_on() {
        if let Err(error) = monitor::start(&shared) {
            shared.stop();
            return Err(error);
        }
    }
    Ok(shared)
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
            let seat = |index| {
                let rng = FastRng::from_seed(seeds.next_u64());
                Seat::new(this, (index, workers), rng, &config)
            };
            MultiThread {
                seats: (0..workers).map(seat).collect(),
                inject: CachePadded::new(InjectQueue::new()),
                idle: CachePadded::new(Idle::new(workers)),
                crowd: Crowd::new(),
                retreats: Retreats::new(),
                driver,
                fresh: Home::new(this, Place::Fresh),
                common_home: Home::new(this, Place::Common),
                common: Mutex::default(),
                stopping: AtomicBool::new(false),
                workers_left: AtomicUsize::new(workers),
                vacant: AtomicUsize::new(0),
                lenders: AtomicUsize::new(0),
                keeps_tasks: config.stall.hands_off.into(),
                standing: 0.into(),
                light_fence: if config.stall.is_watched() {
                    LightFence::new()
                } else {
                    LightFence::unpaired()
                },
                stalls: StallWatch::new(config.stall.clone()),
                watch: Watch::new(workers, &config, &pool),
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
        let (runnable, join) = unsafe { new_task(future, self.fresh.as_ptr(), id, spawned_at) };
        self.admit(runnable);
        join
    }

    /// Takes a new task in. Not generic, so that a spawn's code is small.
    fn admit(self: &Arc<Self>, runnable: Runnable) {
        config::call_for(&self.config.hooks.spawn, &runnable);
        let Some(runnable) = here::spawn_local(self, runnable) else { return };
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
            Ok(()) => self.wake_worker(),
            Err(Closed(runnable)) => self.cancel(runnable),
        }
    }

    /// Wakes a sleeping worker unless one searches already.
    fn wake_worker(&self) {
        if let Some(index) = self.idle.worker_to_wake() {
            self.seats[index].sleep.call(&self.driver);
        }
    }

    /// A worker stops searching: another one searches if there is something to be found.
    fn end_search(&self) {
        if self.idle.end_search() && self.has_work() {
            self.wake_worker();
        }
    }

    /// Has every seat free what is left of its tasks that ended elsewhere: one that sleeps would not.
    #[cold]
    fn call_for_ended(&self) {
        for seat in self.seats.iter().filter(|seat| seat.has_ended()) {
            seat.sleep.call(&self.driver);
        }
    }

    /// Whether somebody should be called, for something that is not in the queue of seat `index`.
    fn has_work_besides(&self, index: usize) -> bool {
        let mut others = self.seats.iter().enumerate().filter(|&(other, _)| other != index);
        !self.inject.is_empty()
            || others.any(|(_, seat)| self.should_call_for(seat, seat.queue.len()))
    }

    /// Whether somebody should be called.
    fn has_work(&self) -> bool {
        let mut seats = self.seats.iter();
        !self.inject.is_empty() || seats.any(|seat| self.should_call_for(seat, seat.queue.len()))
    }

    /// Whether there is work for which somebody should be called even if no CPU is free.
    fn has_work_for_all(&self) -> bool {
        !self.inject.is_empty() || self.seats.iter().any(Seat::is_worth_a_cpu)
    }

    /// Whether a worker that looks around would find something.
    fn has_visible_work(&self) -> bool {
        !self.inject.is_empty() || self.seats.iter().any(Seat::is_worth_taking)
    }

    fn new_stay(&self) -> Arc<Stay> {
        let is_named = self.stalls.config.is_watched() && !cfg!(wakeful_loom);
        Stay::new(self.light_fence, is_named.then(ThreadName::current).flatten())
    }

    /// Has a thread of the pool run `work`, which is to sit on a seat.
    fn submit_seat(self: &Arc<Self>, work: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        self.pool.submit_seat(work, &|| Arc::new(SchedulerHandle::MultiThread(self.clone())))
    }

    /// Leaves a timer of a seat's, which nobody waits for any more, to its sitter.
    #[cfg(feature = "time")]
    pub(crate) fn push_left_timer(&self, index: usize, left: wakeful_reactor::time::LeftEntry) {
        let seat = &self.seats[index];
        let is_much = seat.left_timers.0.push(left);
        if is_much {
            seat.sleep.call(&self.driver);
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Acquire)
    }

    pub(crate) fn workers(&self) -> usize {
        self.seats.len()
    }

    pub(crate) fn worker_metrics(&self, worker: usize) -> &WorkerMetrics {
        &self.seats[worker].metrics
    }

    pub(crate) fn local_queue_depth(&self, worker: usize) -> usize {
        self.seats[worker].queue.len()
    }

    pub(crate) fn remote_metrics(&self) -> &RemoteMetrics {
        &self.remote
    }

    pub(crate) fn inject_depth(&self) -> usize {
        self.inject.len()
    }
}

// SAFETY: a home is a part of `MultiThread`, which the cell's reference keeps; `release_cell` gives it back.
unsafe impl Schedule for Home {
    unsafe fn schedule(home: NonNull<Home>, runnable: Runnable) {
        // SAFETY: the entry we hold keeps the task, and the task its home.
        let shared = unsafe { home.as_ref() }.shared;
        // On a worker of this runtime the thread keeps `MultiThread`; elsewhere nothing might once the
        // entry is in the queue.
        let Some(runnable) = here::schedule_local(shared, runnable) else { return };
        let _keep_shared = runnable.retain();
        // SAFETY: the task, which we hold a reference to, keeps it.
        let shared = unsafe { &*shared };
        RemoteMetrics::inc(&shared.remote.schedules);
        shared.push_remote(runnable);
    }

    unsafe fn release_cell(home: NonNull<Home>) {
        // SAFETY: valid up to here by the reference that is given back.
        let shared = unsafe { home.as_ref() }.shared;
        if !here::release_local(shared) {
            // SAFETY: the cell's reference is ours.
            unsafe { CellRefs::give_back(shared, 1) };
        }
    }
}
