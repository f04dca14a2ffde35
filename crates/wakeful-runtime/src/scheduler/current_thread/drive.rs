//! `block_on`: one thread drives the scheduler and a future of its own.

use super::{Core, CoreAndDriver, CurrentThread, Home};
use crate::config::{self, UnhandledPanic};
use crate::driver::Driver;
use crate::scheduler::block_on::{Root, parker_and_waker};
use crate::scheduler::context::allow_defer;
use crate::scheduler::luck::{LOOK_EVERY, SEARCH_MAX, WAKE_UP};
use crate::stall;
use crate::timers::{PreciseThread, WorkerTimers};
use std::cell::{Cell, RefCell, RefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};
use wakeful_base::catch_panic::contain_panic;
use wakeful_base::sync::atomic::Ordering::*;
use wakeful_base::sync::{hint, seq_cst_for_loom};
use wakeful_base::{Parker, budget, call_now};
use wakeful_task::{FinishingTask, Outcome, Polled, Runnable, RunningTask, TaskRef, is_waker_of};

/// How many looks at the driver a busy thread takes until it notes how long it has been busy: where all tasks give way
/// a look comes every few polls, and reading the clock costs as much as one of them.
const LOOKS_PER_NOTE: u32 = 64;

/// One thread's turn with the core.
struct Turn {
    scheduler: Arc<CurrentThread>,
    core: RefCell<Box<Core>>,
    /// Borrowed while the thread waits in it.
    driver: RefCell<Box<dyn Driver>>,
    /// The task under way.
    polling: Cell<Option<TaskRef>>,
    reports_stalls: bool,
    precise: PreciseThread,
    /// The driver or timers are calling wakers.
    is_reported: Cell<bool>,
}

wakeful_base::per_thread! {
    static TURN: Cell<*const Turn> = const { Cell::new(ptr::null()) };
}

struct SetTurn(*const Turn);

impl Drop for SetTurn {
    fn drop(&mut self) {
        TURN.with(|turn| turn.set(self.0));
    }
}

/// Calls `f` with this thread's turn, if it has one.
fn with_turn<R>(f: impl FnOnce(Option<&Turn>) -> R) -> R {
    let turn = TURN.with(Cell::get);
    // SAFETY: a pointer is only there while `take_turn` on this thread's stack vouches for it.
    f(unsafe { turn.as_ref() })
}

fn with_turn_of<R>(scheduler: *const CurrentThread, f: impl FnOnce(Option<&Turn>) -> R) -> R {
    with_turn(|turn| f(turn.filter(|turn| ptr::eq(Arc::as_ptr(&turn.scheduler), scheduler))))
}

/// Takes a new task in, if this thread drives `scheduler`; else gives it back.
pub(super) fn spawn_local(scheduler: &Arc<CurrentThread>, runnable: Runnable) -> Option<Runnable> {
    with_turn_of(Arc::as_ptr(scheduler), |turn| {
        let Some(turn) = turn else { return Some(runnable) };
        let Some(mut core) = turn.try_core() else { return Some(runnable) };
        scheduler.metrics.spawned.add(1);
        core.refs.take_one(scheduler);
        if core.panicked {
            drop(core);
            scheduler.cancel(runnable);
        } else {
            turn.push(&mut core, runnable);
        }
        None
    })
}

/// Queues an entry, if this thread drives `scheduler`; else gives it back.
pub(super) fn schedule_local(
    scheduler: *const CurrentThread,
    runnable: Runnable,
) -> Option<Runnable> {
    with_turn_of(scheduler, |turn| {
        let Some(turn) = turn else { return Some(runnable) };
        let Some(mut core) = turn.try_core() else { return Some(runnable) };
        turn.push(&mut core, runnable);
        None
    })
}

/// Takes back the reference of a freed cell, if this thread drives `scheduler`.
pub(crate) fn release_local(scheduler: *const CurrentThread) -> bool {
    with_turn_of(scheduler, |turn| {
        let Some(turn) = turn else { return false };
        let Some(mut core) = turn.try_core() else { return false };
        // SAFETY: the caller passes the cell's reference on.
        unsafe { core.refs.put_one(&turn.scheduler) };
        true
    })
}

/// Takes a reference that keeps `scheduler`, if this thread drives it.
#[cfg(feature = "time")]
pub(crate) fn retain_local(scheduler: &Arc<CurrentThread>) -> bool {
    with_turn_of(Arc::as_ptr(scheduler), |turn| {
        let Some(mut core) = turn.and_then(Turn::try_core) else { return false };
        core.refs.take_one(scheduler);
        true
    })
}

/// Calls `f` with the core's timers if this thread drives `scheduler`.
#[cfg(feature = "time")]
pub(crate) fn with_own_timers<R>(
    scheduler: *const CurrentThread,
    f: impl FnOnce(Option<&mut WorkerTimers>) -> R,
) -> R {
    with_turn_of(scheduler, |turn| match turn.and_then(Turn::try_core) {
        Some(mut core) => f(Some(&mut core.timers)),
        None => f(None),
    })
}

/// Keeps `waker` until the driver was looked at. False if this thread drives nothing.
pub(crate) fn defer(waker: &Waker) -> bool {
    with_turn(|turn| {
        let Some(turn) = turn else { return false };
        // Not any task: one that runs inside of another, in a `LocalSet` say, returns to that one.
        if turn.polling.get().is_some_and(|task| is_waker_of(waker, task)) {
            let Some(mut core) = turn.try_core() else { return false };
            core.yielding = true;
        } else {
            // A task that finds its budget used up in many futures needs one wake-up only.
            let core = turn.try_core();
            let last = core.as_ref().and_then(|core| core.deferred.last());
            if last.is_some_and(|last| last.will_wake(waker)) {
                return true;
            }
            // The clone is the caller's code, so the core is not borrowed meanwhile.
            drop(core);
            let waker = waker.clone();
            match turn.try_core() {
                Some(mut core) => core.deferred.push(waker),
                None => waker.wake(),
            }
        }
        true
    })
}

/// Whether this thread drives a scheduler of this kind.
pub(crate) fn is_driving() -> bool {
    with_turn(|turn| turn.is_some())
}

impl CurrentThread {
    /// Drives the scheduler until `root` is ready, or a task's panic has ended the runtime.
    pub(crate) fn drive(self: &Arc<Self>, mut root: Root<'_>) {
        let resting = self.resting.lock().core.take();
        let Some(core) = resting.or_else(|| self.wait_for_core(root.as_mut())) else { return };
        self.stalls.while_pinned(Some(0), || self.take_turn(core, |turn| turn.drive(root)));
    }

    /// Drives `root` alone until the core is free. None if it is ready before.
    fn wait_for_core(&self, mut root: Root<'_>) -> Option<CoreAndDriver> {
        let (parker, waker) = parker_and_waker();
        let mut cx = Context::from_waker(&waker);
        let _in_line = InLine::new(self, &parker);
        loop {
            if let Some(core) = self.resting.lock().core.take() {
                return Some(core);
            }
            if budget::with_initial(|| root.as_mut().poll(&mut cx)).is_ready() {
                return None;
            }
            parker.park();
        }
    }

    /// Runs `f` with the core, then puts it back.
    fn take_turn<R>(self: &Arc<Self>, taken: CoreAndDriver, f: impl FnOnce(&Turn) -> R) -> R {
        /// Puts the core back, even if the future of `block_on` panics.
        struct PutBack(Option<Turn>);

        impl Drop for PutBack {
            fn drop(&mut self) {
                let Turn { scheduler, core, driver, .. } = self.0.take().expect("put back once");
                let (core, driver) = (core.into_inner(), driver.into_inner());
                let mut resting = scheduler.resting.lock();
                resting.core = Some(CoreAndDriver { core, driver });
                // All who wait, as some of them may want it no more by now.
                for (_, waiting) in &resting.waiting {
                    waiting.unpark();
                }
            }
        }

        self.metrics.sit();
        let turn = PutBack(Some(Turn {
            scheduler: self.clone(),
            core: RefCell::new(taken.core),
            driver: RefCell::new(taken.driver),
            polling: Cell::new(None),
            reports_stalls: self.stalls.config.reports(),
            precise: PreciseThread::new(),
            is_reported: Cell::new(false),
        }));
        let turn = turn.0.as_ref().expect("put back at the end");
        let _on_turn = SetTurn(TURN.with(|before| before.replace(turn)));
        let _deferring = allow_defer();
        f(turn)
    }
}

/// A thread's place among those that wait for the core, until dropped.
struct InLine<'a> {
    scheduler: &'a CurrentThread,
    /// A thread waits for one core at a time.
    thread: ThreadId,
}

impl InLine<'_> {
    fn new<'a>(scheduler: &'a CurrentThread, parker: &Parker) -> InLine<'a> {
        let thread = thread::current().id();
        scheduler.resting.lock().waiting.push((thread, parker.unparker()));
        InLine { scheduler, thread }
    }
}

impl Drop for InLine<'_> {
    fn drop(&mut self) {
        let mut resting = self.scheduler.resting.lock();
        resting.waiting.retain(|&(thread, _)| thread != self.thread);
    }
}

impl Turn {
    /// Runs `f` with the core. No user code may run in it.
    fn with_core<R>(&self, f: impl FnOnce(&mut Core) -> R) -> R {
        f(&mut self.core.borrow_mut())
    }

    /// Borrows the core for a call that user code made.
    ///
    /// `None` if the core is borrowed already: then the call comes from an allocator that uses the
    /// runtime, in the middle of a change to the core. The caller goes the way of other threads.
    fn try_core(&self) -> Option<RefMut<'_, Box<Core>>> {
        self.core.try_borrow_mut().ok()
    }

    fn push(&self, core: &mut Core, runnable: Runnable) {
        self.scheduler.metrics.local_schedules.add(1);
        if self.is_reported.get() {
            core.ready.push_woken(runnable);
        } else {
            core.ready.push(runnable);
        }
    }

    /// Until `root` is ready, or a task's panic has ended the runtime.
    fn drive(&self, mut root: Root<'_>) {
        let waker = Waker::from(self.scheduler.clone());
        let mut cx = Context::from_waker(&waker);
        self.scheduler.woken.store(true, Release);
        let (mut busy_since, mut looks) = (Instant::now(), 0_u32);
        let time = &self.scheduler.info.time;
        self.with_core(|core| time.note_wait_end(&mut core.timers, busy_since));
        loop {
            if self.scheduler.woken.swap(false, AcqRel) {
                self.with_core(|core| core.root_polls += 1);
                let poll = || budget::with_initial(|| root.as_mut().poll(&mut cx));
                if stall::run_future(poll).is_ready() {
                    self.scheduler.metrics.add_busy(busy_since);
                    return;
                }
            }
            match self.run_tasks() {
                // Timers that have become due meanwhile need no wake-up of their own.
                Ran::Dry if !self.has_work() && !self.serve_timers() => {
                    let now = self.scheduler.metrics.add_busy(busy_since);
                    // What a wake-up costs matters to who has little to do.
                    if now.duration_since(busy_since) > WAKE_UP || !self.search(now) {
                        self.run_dry();
                    }
                    busy_since = Instant::now();
                    self.with_core(|core| {
                        core.luck.note_sleep(busy_since);
                        time.note_wait_end(&mut core.timers, busy_since);
                    });
                }
                Ran::Dry | Ran::All => {
                    self.look();
                    looks = looks.wrapping_add(1);
                    if looks % LOOKS_PER_NOTE == 0 {
                        busy_since = self.scheduler.metrics.add_busy(busy_since);
                    }
                }
                Ran::IntoPanic => {
                    self.scheduler.stop_after_panic(|f| self.with_core(f));
                    return;
                }
            }
        }
    }

    /// Runs as many tasks as may go before a look at the driver.
    fn run_tasks(&self) -> Ran {
        for _ in 0..self.scheduler.config.event_interval {
            let runnable = match self.next() {
                Next::Run(runnable) => runnable,
                Next::Nothing => return Ran::Dry,
                Next::IntoPanic => return Ran::IntoPanic,
            };
            budget::with_initial(|| {
                self.poll(runnable);
                self.scheduler.metrics.note_budget();
            });
        }
        Ran::All
    }

    fn next(&self) -> Next {
        let inject = &self.scheduler.inject;
        self.with_core(|core| {
            // By a task of this `block_on`, or of an earlier one.
            if core.panicked {
                return Next::IntoPanic;
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

    /// Polls one task and sees to what becomes of it. User code runs in here.
    fn poll(&self, runnable: Runnable) {
        self.scheduler.metrics.polls.add(1);
        let hooks = &self.scheduler.config.hooks;
        config::call_for(&hooks.before_poll, &runnable);
        self.polling.set(Some(runnable.task()));
        let polled = if self.reports_stalls {
            stall::run_task(runnable.id(), runnable.spawned_at(), || runnable.run())
        } else {
            runnable.run()
        };
        self.polling.set(None);
        // SAFETY: whatever became of it, we have the reference that keeps it alive.
        config::call_for(&hooks.after_poll, unsafe { polled.task().as_ref() });
        match polled {
            Polled::Pending(running) => self.settle(running),
            Polled::Ended(ended) => self.end(ended),
        }
    }

    /// Lets a task wait, or queues it again if it was woken during its poll.
    fn settle(&self, running: RunningTask) {
        self.with_core(|core| {
            // SAFETY: all tasks of this scheduler have a `Home`, valid as long as they live.
            if !unsafe { running.home::<Home>().as_ref() }.is_listed {
                // SAFETY: the other home lives as long as the one it replaces; a fresh task is in no
                // list.
                unsafe {
                    running.set_home(NonNull::from(&self.scheduler.listed));
                    core.owned.push_front(running.task());
                }
            }
            if std::mem::take(&mut core.yielding) {
                core.yielded.push(running.requeue());
            } else if let Some(again) = running.idle() {
                self.scheduler.metrics.local_schedules.add(1);
                core.ready.push(again);
            }
        });
    }

    /// Takes leave of a task that has ended. User code runs in here.
    fn end(&self, ended: FinishingTask) {
        self.scheduler.metrics.ended.add(1);
        // SAFETY: all tasks of this scheduler have a `Home`, valid as long as they live.
        let is_listed = unsafe { ended.home::<Home>().as_ref() }.is_listed;
        self.with_core(|core| {
            core.yielding = false;
            if is_listed {
                // SAFETY: it is in our list.
                unsafe { core.owned.remove(ended.task()) };
            }
        });
        if ended.outcome() == Outcome::Panic
            && self.scheduler.config.unhandled_panic == UnhandledPanic::ShutdownRuntime
        {
            self.with_core(|core| core.panicked = true);
        }
        // SAFETY: the scheduler's reference keeps the task alive.
        config::call_for(&self.scheduler.config.hooks.terminate, unsafe { ended.task().as_ref() });
        ended.complete();
    }

    /// Looks for something to do for a while from `begun` on, if that has paid of late. True if there is. Timers are not
    /// looked for: it is known when they are due.
    fn search(&self, begun: Instant) -> bool {
        // Where the clock moves by itself nobody waits.
        let moves =
            self.with_core(|core| self.scheduler.info.time.next_skip(&core.timers).is_some());
        if moves || SEARCH_MAX.is_zero() {
            return false;
        }
        let (mut took, mut next_look) = (Duration::ZERO, Duration::ZERO);
        let (mut found, mut looks) = (false, 0);
        while !found && took < SEARCH_MAX {
            if took >= next_look {
                let polls = self.scheduler.metrics.polls.get();
                let may_look = |core: &mut Core| {
                    core.luck.may_look(looks, polls + core.root_polls, begun + took)
                };
                if !self.with_core(may_look) {
                    return false;
                }
                looks += 1;
                next_look = took + LOOK_EVERY;
                self.in_driver(|driver| driver.wait(Some(Duration::ZERO), &mut call_now));
            }
            hint::spin_loop();
            found = self.has_work() || !self.scheduler.inject.is_empty();
            took = begun.elapsed();
        }
        self.with_core(|core| core.luck.note(looks, found, took));
        found
    }

    /// No task at hand: waits in the driver.
    fn run_dry(&self) {
        let scheduler = &*self.scheduler;
        config::call(&scheduler.config.before_park);
        scheduler.asleep.store(true, SeqCst);
        seq_cst_for_loom();
        // Who comes after the store calls the driver; who came before is seen here.
        if self.has_work() || !scheduler.inject.is_empty() {
            self.look();
        } else {
            scheduler.metrics.parks.add(1);
            self.wait_idle();
            scheduler.metrics.unparks.add(1);
        }
        scheduler.asleep.store(false, Relaxed);
        config::call(&scheduler.config.after_unpark);
    }

    fn has_work(&self) -> bool {
        self.with_core(|core| {
            !(core.ready.is_empty() && core.yielded.is_empty() && core.deferred.is_empty())
        }) || self.scheduler.woken.load(SeqCst)
    }

    /// Waits in the driver until something happens; where the clock moves by itself, moves it instead.
    fn wait_idle(&self) {
        let time = &self.scheduler.info.time;
        let Some(next_ns) = self.with_core(|core| time.next_skip(&core.timers)) else {
            let until = self.with_core(|core| time.until(&core.timers, || None));
            self.precise.before_wait(&until);
            return self.wait_with(|driver| until.in_driver(driver, &mut call_now));
        };
        self.wait_with(|driver| {
            driver.wait(Some(Duration::ZERO), &mut call_now);
            // Not if somebody has work for us meanwhile: for him no time has passed.
            if self.scheduler.asleep.load(SeqCst) && !self.has_work() {
                time.skip_to(next_ns);
            }
        });
    }

    /// Fires the timers that are due. True if there were any.
    fn serve_timers(&self) -> bool {
        let scheduler = &self.scheduler;
        let with_own =
            |f: &mut dyn FnMut(&mut WorkerTimers)| self.with_core(|core| f(&mut core.timers));
        self.is_reported.set(true);
        let fired = scheduler.info.time.serve(&scheduler.left_timers, with_own, &mut call_now);
        self.is_reported.set(false);
        self.with_core(|core| core.timers.note(fired));
        fired.count > 0
    }

    fn look(&self) {
        self.wait_with(|driver| driver.wait(Some(Duration::ZERO), &mut call_now));
    }

    fn in_driver(&self, f: impl FnOnce(&mut dyn Driver)) {
        let mut driver = self.driver.borrow_mut();
        self.is_reported.set(true);
        f(&mut **driver);
        self.is_reported.set(false);
    }

    /// Waits in the driver, then calls the wakers that were waiting for that.
    fn wait_with(&self, wait: impl FnOnce(&mut dyn Driver)) {
        self.in_driver(wait);
        self.serve_timers();
        let deferred = self.with_core(|core| {
            if !core.yielded.is_empty() {
                self.scheduler.metrics.local_schedules.add(core.yielded.len() as u64);
                core.ready.extend(core.yielded.drain(..));
            }
            std::mem::take(&mut core.deferred)
        });
        for waker in deferred {
            // Somebody else's code: its panic must not cost the others their wake.
            contain_panic(|| waker.wake());
        }
    }
}

/// What is to be done next.
enum Next {
    Run(Runnable),
    Nothing,
    /// Nothing any more: a task panicked in a runtime that ends by that.
    IntoPanic,
}

/// What running tasks led to.
enum Ran {
    /// There may be more; the driver is due.
    All,
    /// There are no more.
    Dry,
    /// One of them panicked in a runtime that ends by that.
    IntoPanic,
}
