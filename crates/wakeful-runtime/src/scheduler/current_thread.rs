//! The scheduler with one thread: that which calls `block_on`.
//!
//! Its **core** (queue, list of tasks, driver) belongs to whoever is in `block_on`; between two calls it
//! lies in the shared part. A second thread that calls `block_on` meanwhile drives its own future only,
//! and takes over the core when the first one is done.

mod drive;
mod ready;
mod shutdown;

use self::ready::ReadyTasks;
use crate::blocking::Pool;
use crate::config::{self, Config};
use crate::driver::{Driver, DriverParts, WakeDriver};
use crate::metrics::{RemoteMetrics, WorkerMetrics};
use crate::scheduler::RuntimeInfo;
use crate::scheduler::cell_refs::{CellRefs, KeptByCells, RefBag};
use crate::scheduler::inject::{Closed, InjectionQueue};
use crate::scheduler::luck::Luck;
#[cfg(feature = "time")]
use crate::scheduler::timer::TimerHome;
use crate::stall::StallState;
use crate::timers::{WorkerTimerInbox, WorkerTimers};
use std::future::Future;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::ThreadId;
use wakeful_base::Unparker;
use wakeful_base::list::List;
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom};
use wakeful_task::{Id, JoinHandle, OwnedLink, Runnable, Schedule, new_task};

pub(crate) use drive::{defer, is_driving};
#[cfg(feature = "time")]
pub(crate) use drive::{release_local, retain_local, with_own_timers};

pub(crate) struct CurrentThread {
    inject: InjectionQueue,
    driver_waker: Arc<dyn WakeDriver>,
    /// The core's holder waits in the driver, or is about to.
    parked: AtomicBool,
    /// The future of `block_on` is to be polled.
    root_woken: AtomicBool,
    stopped: AtomicBool,
    /// TaskList of tasks that never waited.
    unlisted: TaskList,
    /// TaskList of tasks in the core's list.
    listed: TaskList,
    core_slot: Mutex<CoreSlot>,
    /// Timers of the core's that sleepers elsewhere want no more. Dropped after `core_slot`, as fields are
    /// in their order: the core's wheel may still point to what is in here.
    left_timers: WorkerTimerInbox,
    refs: CellRefs,
    remote: RemoteMetrics,
    pub(crate) metrics: WorkerMetrics,
    pub(crate) stalls: Arc<StallState>,
    config: Config,
    pub(crate) pool: Arc<Pool>,
    pub(crate) info: RuntimeInfo,
    #[cfg(feature = "time")]
    pub(crate) timer_home: TimerHome,
    /// The only thread that may drive it, for a `LocalRuntime`.
    pub(crate) bound_to: Option<ThreadId>,
}

// SAFETY: the homes point back to this very struct; all else is shareable.
unsafe impl Send for CurrentThread {}
// SAFETY: as above.
unsafe impl Sync for CurrentThread {}

/// The core while nobody is in `block_on`, and who waits for it.
struct CoreSlot {
    core: Option<CoreAndDriver>,
    waiters: Vec<(ThreadId, Unparker)>,
}

/// What passes from one thread in `block_on` to the next.
struct CoreAndDriver {
    core: Box<Core>,
    /// Beside the core, which wakers change while the thread waits here.
    driver: Box<dyn Driver>,
}

/// What only the thread in `block_on` touches, and never while user code runs.
struct Core {
    ready: ReadyTasks<Runnable>,
    /// Tasks that wait, or run and have waited before.
    owned: List<OwnedLink>,
    refs: RefBag,
    /// The task under way wants to give way: it goes to `yielded` when its poll returns.
    yielding: bool,
    /// Tasks that gave way, to be queued after a look at the driver.
    yielded: Vec<Runnable>,
    /// As `yielded`, for wakers of something else than the task under way.
    deferred: Vec<Waker>,
    until_inject: u32,
    /// A task panicked, and the runtime was told to end by that.
    panicked: bool,
    timers: WorkerTimers,
    luck: Luck,
    /// Of what `block_on` was given.
    root_polls: u64,
}

/// Where a task's entries go.
struct TaskList {
    scheduler: *const CurrentThread,
    is_listed: bool,
}

impl KeptByCells for CurrentThread {
    fn cell_refs(&self) -> &CellRefs {
        &self.refs
    }
}

/// Makes a scheduler, at rest.
pub(crate) fn new(
    config: Config,
    pool: Arc<Pool>,
    info: RuntimeInfo,
    driver: DriverParts,
    bound_to: Option<ThreadId>,
) -> Arc<CurrentThread> {
    let core = Box::new(Core {
        ready: ReadyTasks::new(),
        owned: List::new(),
        refs: RefBag::new(),
        yielding: false,
        yielded: Vec::new(),
        deferred: Vec::new(),
        until_inject: 1,
        panicked: false,
        timers: WorkerTimers::new(0),
        luck: Luck::new(),
        root_polls: 0,
    });
    let core = CoreAndDriver { core, driver: driver.driver };
    Arc::new_cyclic(|weak| CurrentThread {
        inject: InjectionQueue::new(),
        driver_waker: driver.waker,
        parked: AtomicBool::new(false),
        root_woken: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
        unlisted: TaskList { scheduler: weak.as_ptr(), is_listed: false },
        listed: TaskList { scheduler: weak.as_ptr(), is_listed: true },
        core_slot: Mutex::new(CoreSlot { core: Some(core), waiters: Vec::new() }),
        left_timers: WorkerTimerInbox::new(),
        refs: CellRefs::new(),
        remote: RemoteMetrics::default(),
        metrics: WorkerMetrics::default(),
        stalls: Arc::new(StallState::new(config.stall.clone())),
        config,
        pool,
        info,
        #[cfg(feature = "time")]
        timer_home: TimerHome::CurrentThread(weak.as_ptr()),
        bound_to,
    })
}

impl CurrentThread {
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
        // SAFETY: the future is `Send`.
        unsafe { self.spawn_local(future, id, spawned_at) }
    }

    /// Spawns a task that need not be `Send`.
    ///
    /// # Safety
    /// Unless the future and its output are `Send`, the runtime must be bound to the calling thread.
    pub(crate) unsafe fn spawn_local<F>(
        self: &Arc<Self>,
        future: F,
        id: Id,
        spawned_at: &'static Location<'static>,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let home = NonNull::from(&self.unlisted);
        // SAFETY: `admit` takes the reference that keeps the home valid before the task gets anywhere;
        // threads by contract.
        let (runnable, join) = unsafe { new_task(future, home, id, spawned_at) };
        self.admit(runnable);
        join
    }

    fn admit(self: &Arc<Self>, runnable: Runnable) {
        config::call_for(&self.config.hooks.spawn, &runnable);
        let Some(runnable) = drive::spawn_local(self, runnable) else { return };
        CellRefs::take(self, 1);
        RemoteMetrics::inc(&self.remote.spawned);
        if self.stopped.load(Acquire) {
            self.cancel(runnable);
        } else {
            self.push_remote(runnable);
        }
    }

    fn push_remote(&self, runnable: Runnable) {
        match self.inject.push(runnable) {
            Ok(()) => self.wake_driver(),
            Err(Closed(runnable)) => self.cancel(runnable),
        }
    }

    /// After how many tasks the inject queue goes before the own one.
    fn inject_interval(&self) -> u32 {
        const DEFAULT: u32 = 31;
        self.config.global_queue_interval.unwrap_or(DEFAULT)
    }

    /// Leaves a timer of the core's, which nobody waits for any more, to who drives it.
    #[cfg(feature = "time")]
    pub(crate) fn push_left_timer(&self, left: wakeful_reactor::time::LeftEntry) {
        let is_batch_full = self.left_timers.0.push(left);
        if is_batch_full {
            self.wake_driver();
        }
    }

    /// Ends the driver's wait, if somebody waits or is about to.
    fn wake_driver(&self) {
        seq_cst_for_loom();
        if self.parked.load(SeqCst) && self.parked.swap(false, SeqCst) {
            self.driver_waker.wake();
        }
    }

    pub(crate) fn remote_metrics(&self) -> &RemoteMetrics {
        &self.remote
    }

    pub(crate) fn inject_depth(&self) -> usize {
        self.inject.len()
    }
}

/// The waker of the future in `block_on`.
impl Wake for CurrentThread {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.root_woken.swap(true, SeqCst) {
            self.wake_driver();
        }
    }
}

// SAFETY: a home is a part of `CurrentThread`, which the cell's reference keeps; `release_cell` gives it back.
unsafe impl Schedule for TaskList {
    unsafe fn schedule(home: NonNull<TaskList>, runnable: Runnable) {
        // SAFETY: the entry we hold keeps the task, and the task its home.
        let scheduler = unsafe { home.as_ref() }.scheduler;
        // On the driving thread `block_on` keeps `CurrentThread`; elsewhere nothing might once the entry is in
        // the queue.
        let Some(runnable) = drive::schedule_local(scheduler, runnable) else { return };
        let _keep_scheduler = runnable.retain();
        // SAFETY: the task, which we hold a reference to, keeps it.
        let scheduler = unsafe { &*scheduler };
        RemoteMetrics::inc(&scheduler.remote.schedules);
        scheduler.push_remote(runnable);
    }

    unsafe fn release_cell(home: NonNull<TaskList>) {
        // SAFETY: valid up to here by the reference that is given back.
        let scheduler = unsafe { home.as_ref() }.scheduler;
        if !drive::release_local(scheduler) {
            // SAFETY: the cell's reference is ours.
            unsafe { CellRefs::give_back(scheduler, 1) };
        }
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "current_thread/tests/loom.rs"]
mod loom;
