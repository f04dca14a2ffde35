//! The current-thread scheduler, driven by the thread that calls `block_on`.
//!
//! Its **core** (queues, list of tasks, timers) and its driver belong to the thread in `block_on`.
//! Between two calls they lie in the scheduler, in the [`CoreSlot`]. A second thread that calls
//! `block_on` meanwhile polls only its own future, and takes the core when the first thread has put
//! it back.
//!
//! ```text
//!   spawn, wake on the driving thread ──▶ core.ready ──▶ poll
//!   spawn, wake on any other thread ────▶ inject ──────▶ core.ready
//! ```
//!
//! - `drive.rs`: `block_on`, the loop that runs tasks, and the functions that tasks on the driving
//!   thread call.
//! - `census.rs`: how a census reaches all tasks.
//! - `ready.rs`: the order of the tasks that are ready to run.
//! - `shutdown.rs`: drops all tasks.

mod census;
mod drive;
mod ready;
mod shutdown;

use self::ready::ReadyTasks;
use crate::blocking::Pool;
use crate::config::Config;
use crate::driver::{Driver, DriverParts, WakeDriver};
use crate::metrics::{RemoteMetrics, WorkerMetrics};
use crate::scheduler::RuntimeInfo;
use crate::scheduler::cell_refs::{CellRefs, KeptByCells, OwnCore, RefBag};
use crate::scheduler::inject::{Closed, InjectionQueue};
#[cfg(feature = "time")]
use crate::scheduler::timer::TimerHome;
use crate::spin_budget::SpinBudget;
use crate::stall::StallState;
use crate::task_walk::ListWalk;
use crate::timers::{WorkerTimerInbox, WorkerTimers};
use crate::wake_cost::WakeStamp;
use std::future::Future;
use std::panic::Location;
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::ThreadId;
use wakeful_base::Unparker;
use wakeful_base::list::List;
use wakeful_base::sync::atomic::{AtomicBool, AtomicPtr, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom};
use wakeful_task::{Header, Id, JoinHandle, OwnedLink, Runnable, Schedule, new_task, recording};

pub(crate) use census::Drive;
pub(crate) use drive::{defer, is_driving};

/// The current-thread scheduler.
pub(crate) struct CurrentThread {
    inject: InjectionQueue,
    driver_waker: Arc<dyn WakeDriver>,
    /// The thread that has the core is parked in the driver, or about to be.
    parked: AtomicBool,
    /// When the driving thread was last woken by another thread.
    woken: WakeStamp,
    /// The future of `block_on` is to be polled.
    root_woken: AtomicBool,
    stopped: AtomicBool,
    /// The task list of tasks that have never waited. They are in no list.
    unlisted: TaskList,
    /// The task list of tasks in the core's list.
    listed: TaskList,
    core_slot: Mutex<CoreSlot>,
    /// Timers of the core that other threads have given up. Dropped after `core_slot`, because
    /// fields are dropped in declaration order: the core's wheel may still point to the entries in
    /// here.
    left_timers: WorkerTimerInbox,
    /// A census' walk over the core's list of tasks.
    walk: ListWalk,
    /// The task that the driving thread polls. Only that thread may dereference it.
    polling: AtomicPtr<Header>,
    refs: CellRefs,
    remote: RemoteMetrics,
    pub(crate) metrics: WorkerMetrics,
    pub(crate) stalls: Arc<StallState>,
    config: Config,
    pub(crate) pool: Arc<Pool>,
    pub(crate) info: RuntimeInfo,
    #[cfg(feature = "time")]
    pub(crate) timer_home: TimerHome,
    /// The only thread that may drive this scheduler, for a `LocalRuntime`.
    pub(crate) bound_to: Option<ThreadId>,
}

// SAFETY: the raw pointers in `unlisted`, `listed` and `timer_home` point back to this struct and
// are only read. The core may move between threads: only the thread that has it touches its tasks,
// and tasks that are not `Send` exist only if `bound_to` names the one thread that may drive them.
unsafe impl Send for CurrentThread {}
// SAFETY: as above. The core is behind a lock, and all other fields are made for sharing.
unsafe impl Sync for CurrentThread {}

/// The core while no thread drives the scheduler, and the threads that wait for it.
struct CoreSlot {
    core: Option<CoreAndDriver>,
    /// One entry for each waiting thread, which removes its own entry.
    waiters: Vec<(ThreadId, Unparker)>,
}

/// What one thread in `block_on` passes to the next.
struct CoreAndDriver {
    core: Box<Core>,
    /// Not a part of the core: wakers change the core while the thread waits in the driver.
    driver: Box<dyn Driver>,
}

/// The state that only the driving thread touches, and never while user code runs.
struct Core {
    ready: ReadyTasks<Runnable>,
    /// Tasks that wait, and those being polled that have waited before.
    owned: List<OwnedLink>,
    refs: RefBag,
    /// The task being polled yields: it goes to `yielded` when its poll returns.
    yielding: bool,
    /// Tasks that yielded, to be queued after the next look at the driver.
    yielded: Vec<Runnable>,
    /// Like `yielded`, for wakers other than that of the task being polled.
    deferred: Vec<Waker>,
    until_inject: u32,
    /// A task panicked, and the runtime is configured to shut down then.
    panicked: bool,
    timers: WorkerTimers,
    spin_budget: SpinBudget,
}

/// Where a woken task is queued: the `home` of its cell.
struct TaskList {
    scheduler: *const CurrentThread,
    is_listed: bool,
}

impl KeptByCells for CurrentThread {
    fn cell_refs(&self) -> &CellRefs {
        &self.refs
    }

    #[inline]
    fn with_own_core<R>(scheduler: *const Self, f: impl FnOnce(OwnCore<'_>) -> R) -> R {
        drive::with_own_core(scheduler, f)
    }
}

/// Creates a scheduler that no thread drives yet.
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
        spin_budget: SpinBudget::new(),
    });
    let core = CoreAndDriver { core, driver: driver.driver };
    let metrics = WorkerMetrics::new(&config.histograms);
    Arc::new_cyclic(|weak| CurrentThread {
        inject: InjectionQueue::new(),
        driver_waker: driver.waker,
        parked: AtomicBool::new(false),
        woken: WakeStamp::new(),
        root_woken: AtomicBool::new(false),
        stopped: AtomicBool::new(false),
        unlisted: TaskList { scheduler: weak.as_ptr(), is_listed: false },
        listed: TaskList { scheduler: weak.as_ptr(), is_listed: true },
        core_slot: Mutex::new(CoreSlot { core: Some(core), waiters: Vec::new() }),
        left_timers: WorkerTimerInbox::new(),
        walk: ListWalk::new(),
        polling: AtomicPtr::new(std::ptr::null_mut()),
        refs: CellRefs::new(),
        remote: RemoteMetrics::default(),
        metrics,
        stalls: Arc::new(StallState::new(config.stall.clone(), info.id.get())),
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
    /// Unless the future and its output are `Send`, the runtime must be bound to the calling
    /// thread.
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
        // SAFETY: the home is a field of `self`. `admit` takes the reference that keeps it valid
        // before any other code can reach the task. The future stays on this thread by contract.
        let (runnable, join) = unsafe { new_task(future, home, id, spawned_at) };
        self.admit(runnable);
        join
    }

    fn admit(self: &Arc<Self>, runnable: Runnable) {
        if recording::has_observers() {
            self.config.observe_spawn(&runnable);
        }
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

    /// Returns how many tasks from the core's queues run before one from the injection queue.
    fn inject_interval(&self) -> u32 {
        const DEFAULT: u32 = 31;
        self.config.global_queue_interval.unwrap_or(DEFAULT)
    }

    /// Passes a timer of the core that no task waits for any more to the driving thread.
    #[cfg(feature = "time")]
    pub(crate) fn push_left_timer(&self, left: wakeful_reactor::time::LeftEntry) {
        let is_batch_full = self.left_timers.0.push(left);
        if is_batch_full {
            self.wake_driver();
        }
    }

    /// Wakes the driver, if a thread is parked in it or about to be.
    fn wake_driver(&self) {
        seq_cst_for_loom();
        if self.parked.load(SeqCst) && self.parked.swap(false, SeqCst) {
            self.woken.set();
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

/// The waker of the future in `block_on`. Each call has its own, so that its clones can be counted.
struct WakeRoot(Arc<CurrentThread>);

impl Wake for WakeRoot {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let WakeRoot(scheduler) = &**self;
        if !scheduler.root_woken.swap(true, SeqCst) {
            scheduler.wake_driver();
        }
    }
}

// SAFETY: a task list is a field of `CurrentThread`. The reference that `admit` takes for the cell
// keeps that alive until `release_cell` returns it.
unsafe impl Schedule for TaskList {
    unsafe fn schedule(home: NonNull<TaskList>, runnable: Runnable) {
        // SAFETY: `runnable` keeps the task alive, and the task's cell keeps the scheduler.
        let scheduler = unsafe { home.as_ref() }.scheduler;
        // SAFETY: as above; `runnable` is still here.
        unsafe { &*scheduler }.config.note_scheduled(&runnable);
        // On the driving thread the `Arc` in `DriveContext` keeps the scheduler alive. On any other
        // thread, once the entry is in the queue, nothing might.
        let Some(runnable) = drive::schedule_local(scheduler, runnable) else { return };
        let _keep_scheduler = runnable.retain();
        // SAFETY: `_keep_scheduler` is a reference to the task, whose cell keeps the scheduler
        // alive.
        let scheduler = unsafe { &*scheduler };
        RemoteMetrics::inc(&scheduler.remote.schedules);
        scheduler.push_remote(runnable);
    }

    unsafe fn release_cell(home: NonNull<TaskList>) {
        // SAFETY: the freed cell's reference, which is returned only below, keeps the scheduler
        // alive.
        let scheduler = unsafe { home.as_ref() }.scheduler;
        // SAFETY: the freed cell's reference passes to this call. `scheduler` is not used
        // afterwards.
        unsafe { CellRefs::give_one(scheduler) };
    }
}

#[cfg(all(test, not(wakeful_loom)))]
mod tests;

#[cfg(all(test, wakeful_loom))]
#[path = "current_thread/tests/loom.rs"]
mod loom;
