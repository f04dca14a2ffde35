//! `block_on`: one thread drives the scheduler and the future that it was given.
//!
//! [`CurrentThread::drive`] takes the core, or waits for it. [`DriveContext`] is the thread's
//! access to the core; a thread-local points to it, so that spawns and wake-ups on this thread find
//! it. The loop in [`DriveContext::drive`] polls the root future when it was woken, runs a batch of
//! tasks, then looks at the driver and the timers. Without tasks it spins for a while or parks in
//! the driver.

use super::{Core, CoreAndDriver, CurrentThread, TaskList, WakeRoot};
use crate::config::{self, UnhandledPanic};
use crate::driver::Driver;
use crate::scheduler::block_on::{Root, parker_and_waker};
use crate::scheduler::cell_refs::OwnCore;
use crate::scheduler::context::allow_defer;
use crate::stall;
use crate::timers::{PreciseThread, WorkerTimers};
use std::cell::{Cell, RefCell, RefMut};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::atomic::Ordering::*;
use wakeful_base::sync::{hint, seq_cst_for_loom};
use wakeful_base::threads::{BlockedOn, RootWaker};
use wakeful_base::{Parker, budget, call_now};
use wakeful_task::{
    FinishingTask, Outcome, Polled, Runnable, RunningTask, TaskRef, is_waker_of, recording,
};

/// After how many looks at the driver a busy thread updates its busy time. If all tasks yield,
/// there is a look every few polls, and reading the clock costs as much as one of those.
const LOOKS_PER_BUSY_UPDATE: u32 = 64;

/// The context of a thread that drives the scheduler.
struct DriveContext {
    scheduler: Arc<CurrentThread>,
    core: RefCell<Box<Core>>,
    /// Borrowed while the thread waits in it.
    driver: RefCell<Box<dyn Driver>>,
    reports_stalls: bool,
    precise: PreciseThread,
    /// The driver or the timers are calling wakers now.
    is_driver_waking: Cell<bool>,
}

wakeful_base::per_thread! {
    static DRIVE_CONTEXT: Cell<*const DriveContext> = const { Cell::new(ptr::null()) };
}

struct SetDriveContext(*const DriveContext);

impl Drop for SetDriveContext {
    fn drop(&mut self) {
        DRIVE_CONTEXT.with(|context| context.set(self.0));
    }
}

/// Calls `f` with this thread's drive context, if there is one.
fn with_context<R>(f: impl FnOnce(Option<&DriveContext>) -> R) -> R {
    let context = DRIVE_CONTEXT.with(Cell::get);
    // SAFETY: a pointer is in place only while its `enter_context` runs on this thread. The context
    // lives in that call's frame, and `SetDriveContext` restores the previous pointer before the
    // context is dropped.
    f(unsafe { context.as_ref() })
}

fn with_context_of<R>(
    scheduler: *const CurrentThread,
    f: impl FnOnce(Option<&DriveContext>) -> R,
) -> R {
    with_context(|context| {
        f(context.filter(|context| ptr::eq(Arc::as_ptr(&context.scheduler), scheduler)))
    })
}

/// Queues a new task, if this thread drives `scheduler`. Otherwise returns it.
pub(super) fn spawn_local(scheduler: &Arc<CurrentThread>, runnable: Runnable) -> Option<Runnable> {
    with_context_of(Arc::as_ptr(scheduler), |context| {
        let Some(context) = context else { return Some(runnable) };
        let Some(mut core) = context.try_core() else { return Some(runnable) };
        scheduler.metrics.spawned.add(1);
        core.refs.take_one(scheduler);
        if core.panicked {
            drop(core);
            scheduler.cancel(runnable);
        } else {
            context.push(&mut core, runnable);
        }
        None
    })
}

/// Queues a woken task, if this thread drives `scheduler`. Otherwise returns it.
pub(super) fn schedule_local(
    scheduler: *const CurrentThread,
    runnable: Runnable,
) -> Option<Runnable> {
    with_context_of(scheduler, |context| {
        let Some(context) = context else { return Some(runnable) };
        let Some(mut core) = context.try_core() else { return Some(runnable) };
        context.push(&mut core, runnable);
        None
    })
}

/// Calls `f` with parts of the core if this thread drives `scheduler`.
#[inline]
pub(super) fn with_own_core<R>(
    scheduler: *const CurrentThread,
    f: impl FnOnce(OwnCore<'_>) -> R,
) -> R {
    with_context_of(scheduler, |context| match context.and_then(DriveContext::try_core) {
        Some(mut core) => {
            let Core { refs, timers, .. } = &mut **core;
            f(Some((refs, timers)))
        }
        None => f(None),
    })
}

/// Keeps `waker` until the next look at the driver. Returns false if this thread drives nothing.
pub(crate) fn defer(waker: &Waker) -> bool {
    with_context(|context| {
        let Some(context) = context else { return false };
        // Only the task being polled yields by its queue entry. A task inside it, in a `LocalSet`
        // for instance, has another waker and takes the other branch.
        let polling = TaskRef::new(context.scheduler.polling.load(Relaxed));
        if polling.is_some_and(|task| is_waker_of(waker, task)) {
            let Some(mut core) = context.try_core() else { return false };
            core.yielding = true;
        } else {
            // A task that polls many futures without budget needs only one wake-up.
            let core = context.try_core();
            let last = core.as_ref().and_then(|core| core.deferred.last());
            if last.is_some_and(|last| last.will_wake(waker)) {
                return true;
            }
            // The clone is user code, so the core is not borrowed meanwhile.
            drop(core);
            let waker = waker.clone();
            match context.try_core() {
                Some(mut core) => core.deferred.push(waker),
                None => waker.wake(),
            }
        }
        true
    })
}

/// Returns whether this thread drives a current-thread scheduler.
pub(crate) fn is_driving() -> bool {
    with_context(|context| context.is_some())
}

impl CurrentThread {
    /// Drives the scheduler until `root` is ready, or until a task's panic shuts the runtime down.
    ///
    /// `site` is where `block_on` was called.
    pub(crate) fn drive(self: &Arc<Self>, mut root: Root<'_>, site: &'static Location<'static>) {
        let free_core = self.core_slot.lock().core.take();
        let core = free_core.or_else(|| self.wait_for_core(root.as_mut(), site));
        let Some(core) = core else { return };
        self.stalls.while_pinned(Some(0), || {
            self.enter_context(core, |context| context.drive(root, site));
        });
    }

    /// Polls `root` alone until the core is free. Returns `None` if `root` is ready before.
    fn wait_for_core(
        &self,
        mut root: Root<'_>,
        site: &'static Location<'static>,
    ) -> Option<CoreAndDriver> {
        let (parker, own) = parker_and_waker();
        let waker = own.waker();
        let mut cx = Context::from_waker(waker);
        let _waiter = CoreWaiter::new(self, &parker);
        let blocked = BlockedOn::begin(Some(site), self.info.id.get(), &own);
        loop {
            if let Some(core) = self.core_slot.lock().core.take() {
                return Some(core);
            }
            let poll = || {
                budget::with_initial(|| self.remote.noting_budget(|| root.as_mut().poll(&mut cx)))
            };
            if blocked.poll(waker, poll).is_ready() {
                return None;
            }
            parker.park();
        }
    }

    /// Runs `f` in a new drive context, then puts the core back.
    fn enter_context<R>(
        self: &Arc<Self>,
        taken: CoreAndDriver,
        f: impl FnOnce(&DriveContext) -> R,
    ) -> R {
        /// Puts the core back, even if the future of `block_on` panics.
        struct PutBack(Option<DriveContext>);

        impl Drop for PutBack {
            fn drop(&mut self) {
                let DriveContext { scheduler, core, driver, .. } =
                    self.0.take().expect("dropped once");
                let (core, driver) = (core.into_inner(), driver.into_inner());
                let mut core_slot = scheduler.core_slot.lock();
                core_slot.core = Some(CoreAndDriver { core, driver });
                // Unparks all waiting threads: some of them may no longer need the core.
                for (_, waiter) in &core_slot.waiters {
                    waiter.unpark();
                }
            }
        }

        self.metrics.note_thread();
        let context = PutBack(Some(DriveContext {
            scheduler: self.clone(),
            core: RefCell::new(taken.core),
            driver: RefCell::new(taken.driver),
            reports_stalls: self.stalls.config.reports(),
            precise: PreciseThread::new(),
            is_driver_waking: Cell::new(false),
        }));
        let context = context.0.as_ref().expect("taken only when dropped");
        let _entered = SetDriveContext(DRIVE_CONTEXT.with(|before| before.replace(context)));
        let _deferring = allow_defer();
        f(context)
    }
}

/// The entry of a thread that waits for the core, removed when dropped.
struct CoreWaiter<'a> {
    scheduler: &'a CurrentThread,
    /// Identifies the entry: a thread waits for one core at a time.
    thread: ThreadId,
}

impl CoreWaiter<'_> {
    fn new<'a>(scheduler: &'a CurrentThread, parker: &Parker) -> CoreWaiter<'a> {
        let thread = thread::current().id();
        scheduler.core_slot.lock().waiters.push((thread, parker.unparker()));
        CoreWaiter { scheduler, thread }
    }
}

impl Drop for CoreWaiter<'_> {
    fn drop(&mut self) {
        let mut core_slot = self.scheduler.core_slot.lock();
        core_slot.waiters.retain(|&(thread, _)| thread != self.thread);
    }
}

impl DriveContext {
    /// Runs `f` with the core. `f` must not run user code.
    fn with_core<R>(&self, f: impl FnOnce(&mut Core) -> R) -> R {
        f(&mut self.core.borrow_mut())
    }

    /// Borrows the core for a call made by user code.
    ///
    /// Returns `None` if the core is borrowed already. Then a global allocator that uses the
    /// runtime made the call, in the middle of a change to the core. The caller proceeds as on any
    /// other thread.
    fn try_core(&self) -> Option<RefMut<'_, Box<Core>>> {
        self.core.try_borrow_mut().ok()
    }

    fn push(&self, core: &mut Core, runnable: Runnable) {
        self.scheduler.metrics.local_schedules.add(1);
        if self.is_driver_waking.get() {
            core.ready.push_woken(runnable);
        } else {
            core.ready.push(runnable);
        }
    }

    /// Runs until `root` is ready, or until a task's panic shuts the runtime down.
    fn drive(&self, mut root: Root<'_>, site: &'static Location<'static>) {
        let own = RootWaker::new(Arc::new(WakeRoot(self.scheduler.clone())));
        let waker = own.waker();
        let mut cx = Context::from_waker(waker);
        let blocked = BlockedOn::begin(Some(site), self.scheduler.info.id.get(), &own);
        self.scheduler.root_woken.store(true, Release);
        let (mut busy_since, mut looks) = (Instant::now(), 0_u32);
        let time = &self.scheduler.info.time;
        self.with_core(|core| time.note_wait_end(&mut core.timers, busy_since));
        loop {
            if self.scheduler.root_woken.swap(false, AcqRel) {
                let poll = || {
                    budget::with_initial(|| {
                        let polled = root.as_mut().poll(&mut cx);
                        self.scheduler.metrics.note_budget();
                        polled
                    })
                };
                if stall::run_future(|| blocked.poll(waker, poll)).is_ready() {
                    self.scheduler.metrics.add_busy(busy_since, Instant::now());
                    return;
                }
            }
            if self.scheduler.walk.is_requested() {
                self.walk_tasks();
            }
            match self.run_tasks() {
                // Timers that have become due meanwhile are served without parking.
                BatchEnd::QueuesEmpty if !self.has_work() && !self.serve_timers() => {
                    let now = self.scheduler.metrics.add_busy(busy_since, Instant::now());
                    if !self.spin(now) {
                        self.park();
                    }
                    busy_since = Instant::now();
                    self.with_core(|core| {
                        time.note_wait_end(&mut core.timers, busy_since);
                    });
                }
                BatchEnd::QueuesEmpty | BatchEnd::MaintenanceDue => {
                    self.look_at_driver();
                    looks = looks.wrapping_add(1);
                    if looks % LOOKS_PER_BUSY_UPDATE == 0 {
                        busy_since = self.scheduler.metrics.add_busy(busy_since, Instant::now());
                    }
                }
                BatchEnd::TaskPanicked => {
                    self.scheduler.stop_after_panic(|f| self.with_core(f));
                    return;
                }
            }
        }
    }

    /// Runs tasks until the next look at the driver is due.
    fn run_tasks(&self) -> BatchEnd {
        for _ in 0..self.scheduler.config.event_interval {
            let runnable = match self.next() {
                Next::Run(runnable) => runnable,
                Next::Nothing => return BatchEnd::QueuesEmpty,
                Next::TaskPanicked => return BatchEnd::TaskPanicked,
            };
            budget::with_initial(|| {
                self.poll(runnable);
                self.scheduler.metrics.note_budget();
            });
        }
        BatchEnd::MaintenanceDue
    }

    fn next(&self) -> Next {
        let inject = &self.scheduler.inject;
        self.with_core(|core| {
            // A task panicked in this `block_on` or in an earlier one.
            if core.panicked {
                return Next::TaskPanicked;
            }
            core.until_inject -= 1;
            if core.until_inject == 0 {
                core.until_inject = self.scheduler.inject_interval();
                if let Some(runnable) = inject.pop() {
                    return Next::Run(runnable);
                }
            }
            if core.ready.is_fifo_empty() && !inject.is_empty() {
                inject.pop_many(|len| len, |runnable| core.ready.push(runnable));
            }
            core.ready.pop().map_or(Next::Nothing, Next::Run)
        })
    }

    /// Polls one task and settles or ends it. Runs user code.
    fn poll(&self, runnable: Runnable) {
        self.scheduler.metrics.polls.add(1);
        let polled = if recording::has_observers() {
            self.poll_observed(runnable)
        } else {
            self.run(runnable, Runnable::run)
        };
        match polled {
            Polled::Pending(running) => self.settle(running),
            Polled::Ended(ended) => self.end(ended),
        }
    }

    #[cold]
    fn poll_observed(&self, runnable: Runnable) -> Polled {
        let yields = || self.with_core(|core| core.yielding);
        self.scheduler.config.observe_poll(&self.scheduler.metrics, runnable, |runnable| {
            self.run(runnable, |runnable| runnable.run_observed(yields))
        })
    }

    /// Polls a task with `run`, and lets others know that it is being polled.
    #[inline]
    fn run(&self, runnable: Runnable, run: impl FnOnce(Runnable) -> Polled) -> Polled {
        self.scheduler.polling.store(runnable.task().as_ptr(), Relaxed);
        let polled = if self.reports_stalls {
            stall::run_task(runnable.id(), runnable.spawned_at(), || run(runnable))
        } else {
            run(runnable)
        };
        self.scheduler.polling.store(ptr::null_mut(), Relaxed);
        polled
    }

    /// Leaves a pending task to its waker, or queues it again if it yielded or was woken during its
    /// poll.
    fn settle(&self, running: RunningTask) {
        self.with_core(|core| {
            // SAFETY: all tasks of this scheduler are created with a `TaskList` as home. It is a
            // field of the scheduler, which the task's cell keeps alive.
            if !unsafe { running.home::<TaskList>().as_ref() }.is_listed {
                // SAFETY: `listed` is a field of the same scheduler as `unlisted`, so it lives as
                // long. A task whose home is `unlisted` is in no list, and the scheduler's
                // reference keeps it alive while it is in `owned`.
                unsafe {
                    running.set_home(NonNull::from(&self.scheduler.listed));
                    core.owned.push_front(running.task());
                }
            }
            if std::mem::take(&mut core.yielding) {
                let again = running.requeue();
                self.scheduler.config.note_scheduled(&again);
                core.yielded.push(again);
            } else if let Some(again) = running.idle() {
                self.scheduler.config.note_scheduled(&again);
                self.scheduler.metrics.local_schedules.add(1);
                core.ready.push(again);
            }
        });
    }

    /// Removes a task that has ended, and completes it. Runs user code.
    fn end(&self, ended: FinishingTask) {
        self.scheduler.metrics.ended.add(1);
        // SAFETY: as in `settle`.
        let is_listed = unsafe { ended.home::<TaskList>().as_ref() }.is_listed;
        self.with_core(|core| {
            core.yielding = false;
            if is_listed {
                // SAFETY: a task whose home is `listed` is in `owned`, and only this thread touches
                // that list.
                unsafe { core.owned.remove(ended.task()) };
            }
        });
        if ended.outcome() == Outcome::Panic
            && self.scheduler.config.unhandled_panic == UnhandledPanic::ShutdownRuntime
        {
            self.with_core(|core| core.panicked = true);
        }
        // SAFETY: `ended` holds the scheduler's reference, which keeps the task alive.
        config::call_for(&self.scheduler.config.hooks.terminate, unsafe { ended.task().as_ref() });
        ended.complete();
    }

    /// Spins instead of parking, if that has paid off recently. Returns true if it found work. It
    /// does not wait for timers: it is known when they are due.
    fn spin(&self, started: Instant) -> bool {
        // A paused clock moves on its own as soon as the thread is idle.
        let clock_moves =
            self.with_core(|core| self.scheduler.info.time.next_skip(&core.timers).is_some());
        if clock_moves {
            return false;
        }
        let Some(time_max) = self.with_core(|core| core.spin_budget.next_spin()) else {
            return false;
        };
        let (mut took, mut found) = (Duration::ZERO, false);
        while !found && took < time_max {
            self.with_driver(|driver| driver.wait(Some(Duration::ZERO), &mut call_now));
            hint::spin_loop();
            found = self.has_work() || !self.scheduler.inject.is_empty();
            took = started.elapsed();
        }
        self.with_core(|core| core.spin_budget.record(found, took));
        found
    }

    /// Parks in the driver.
    fn park(&self) {
        let scheduler = &*self.scheduler;
        config::call(&scheduler.config.before_park);
        scheduler.parked.store(true, SeqCst);
        seq_cst_for_loom();
        // A thread that pushes after this store wakes the driver. What was pushed before is seen
        // here.
        if self.has_work() || !scheduler.inject.is_empty() {
            self.look_at_driver();
        } else {
            scheduler.metrics.note_park();
            self.wait_for_event();
            scheduler.woken.measure(Instant::now());
            scheduler.metrics.unparks.add(1);
        }
        scheduler.parked.store(false, Relaxed);
        config::call(&scheduler.config.after_unpark);
    }

    fn has_work(&self) -> bool {
        self.with_core(|core| {
            !(core.ready.is_empty() && core.yielded.is_empty() && core.deferred.is_empty())
        }) || self.scheduler.root_woken.load(SeqCst)
            || self.scheduler.walk.is_requested()
    }

    /// Makes a step of the walk that a census has requested.
    #[cold]
    fn walk_tasks(&self) {
        self.scheduler.walk.step(&mut |visit| self.with_core(|core| visit(&mut core.owned)));
    }

    /// Waits in the driver until something happens. A paused clock is moved to the next timer
    /// instead.
    fn wait_for_event(&self) {
        let time = &self.scheduler.info.time;
        let Some(next_ns) = self.with_core(|core| time.next_skip(&core.timers)) else {
            let until = self.with_core(|core| time.until(&core.timers));
            self.precise.before_wait(&until);
            return self.wait_in_driver(|driver| until.in_driver(driver, &mut call_now));
        };
        self.wait_in_driver(|driver| {
            driver.wait(Some(Duration::ZERO), &mut call_now);
            // Not if another thread has sent work meanwhile: for that work no time may have passed.
            if self.scheduler.parked.load(SeqCst) && !self.has_work() {
                time.skip_to(next_ns);
            }
        });
    }

    /// Fires the timers that are due. Returns whether there were any.
    fn serve_timers(&self) -> bool {
        let scheduler = &self.scheduler;
        let with_own =
            |f: &mut dyn FnMut(&mut WorkerTimers)| self.with_core(|core| f(&mut core.timers));
        self.is_driver_waking.set(true);
        let fired = scheduler.info.time.serve(&scheduler.left_timers, with_own, &mut call_now);
        self.is_driver_waking.set(false);
        self.with_core(|core| core.timers.note(fired));
        fired.count > 0
    }

    fn look_at_driver(&self) {
        self.wait_in_driver(|driver| driver.wait(Some(Duration::ZERO), &mut call_now));
    }

    fn with_driver(&self, f: impl FnOnce(&mut dyn Driver)) {
        let mut driver = self.driver.borrow_mut();
        self.is_driver_waking.set(true);
        f(&mut **driver);
        self.is_driver_waking.set(false);
    }

    /// Calls `wait` with the driver, then serves timers, queues the tasks that yielded and calls
    /// the deferred wakers.
    fn wait_in_driver(&self, wait: impl FnOnce(&mut dyn Driver)) {
        self.with_driver(wait);
        self.serve_timers();
        let deferred = self.with_core(|core| {
            if !core.yielded.is_empty() {
                self.scheduler.metrics.local_schedules.add(core.yielded.len() as u64);
                core.ready.extend(core.yielded.drain(..));
            }
            std::mem::take(&mut core.deferred)
        });
        for waker in deferred {
            // The waker may be user code: if it panics, the others still have to be called.
            contain_panic(|| waker.wake());
        }
    }
}

/// What a driving thread does next.
enum Next {
    Run(Runnable),
    Nothing,
    /// A task panicked, and the runtime is configured to shut down then.
    TaskPanicked,
}

/// Why a batch of tasks has ended.
enum BatchEnd {
    /// A look at the driver is due; there may be more tasks.
    MaintenanceDue,
    /// No task is ready.
    QueuesEmpty,
    /// A task panicked, and the runtime is configured to shut down then.
    TaskPanicked,
}
