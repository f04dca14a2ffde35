//! A worker: a thread that sits on a seat and runs its tasks.

use super::seat::{ENDED_ELSEWHERE_MAX, Place, Seat, SeatCore};
use super::{Home, MultiThread};
use crate::config;
use crate::scheduler::SchedulerHandle;
use crate::scheduler::context::allow_defer;
#[cfg(feature = "time")]
use crate::timers::SeatTimers;
use crate::timers::{PreciseThread, Until};
use std::cell::Cell;
use std::io;
use std::mem::take;
use std::ops::{Deref, DerefMut};
use std::ptr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};
use wakeful_base::Parker;
use wakeful_base::budget::{self, Budget};
use wakeful_base::enter::{Entered, set_entered};
use wakeful_base::shield::shield;
use wakeful_base::sync::hint;
use wakeful_task::{Finishing, Polled, Runnable, Running, TaskRef, is_waker_of};

/// How often in a row the last-woken slot goes before the queue.
const LIFO_POLLS_MAX: u32 = 3;

/// How many entries a worker takes from the inject queue at once.
const INJECT_BATCH_MAX: usize = 64;

/// How long a worker that ran dry looks around before it sleeps: about what a wake-up costs.
const SEARCH_MAX: Duration = Duration::from_micros(if cfg!(wakeful_loom) { 0 } else { 20 });

/// How often it looks at the driver meanwhile, beginning with the first moment: what was sent to a peer on
/// this machine has its answer there already. (Without, one TCP connection made 9,000 echo rounds a second
/// instead of 45,000.)
const SEARCH_LOOKS_EVERY: Duration = Duration::from_micros(5);

/// One thread's stay on one seat.
pub(super) struct Sitter {
    pub(super) shared: Arc<MultiThread>,
    pub(super) index: usize,
    /// False once the seat was given away.
    pub(super) seated: Cell<bool>,
    /// In a core section.
    inside: Cell<bool>,
    /// The task under way.
    pub(super) polling: Cell<Option<TaskRef>>,
    /// It wants to give way. Of the thread, not of the seat, which may be lost before the poll returns.
    yielding: Cell<bool>,
    /// Timers are being fired: whether to call others for what they wake is decided after.
    firing: Cell<bool>,
    precise: PreciseThread,
    pub(super) parker: Parker,
}

wakeful_base::per_thread! {
    static SITTER: Cell<*const Sitter> = const { Cell::new(ptr::null()) };
}

/// A core section: access to what lies on the seat. No user code may run while one is open.
pub(super) struct CoreSection<'a> {
    sitter: &'a Sitter,
}

impl Deref for CoreSection<'_> {
    type Target = SeatCore;

    fn deref(&self) -> &SeatCore {
        // SAFETY: only the sitter of a seat opens sections, one at a time.
        self.sitter.seat().core.with(|core| unsafe { &*core })
    }
}

impl DerefMut for CoreSection<'_> {
    fn deref_mut(&mut self) -> &mut SeatCore {
        // SAFETY: as above.
        self.sitter.seat().core.with_mut(|core| unsafe { &mut *core })
    }
}

impl Drop for CoreSection<'_> {
    #[inline]
    fn drop(&mut self) {
        self.sitter.inside.set(false);
    }
}

/// Has a thread of the pool sit on seat `index`.
pub(super) fn start(shared: &Arc<MultiThread>, index: usize) -> io::Result<()> {
    let sit_on = shared.clone();
    let context = || SchedulerHandle::MultiThread(shared.clone());
    shared.pool.submit_seat(Box::new(move || sit(sit_on, index)), context)
}

pub(super) fn sit(shared: Arc<MultiThread>, index: usize) {
    let _driving = set_entered(Entered::MayBlockInPlace);
    let parker = Parker::new();
    shared.seats[index].sleep.sit(parker.unparker());
    shared.seats[index].metrics.sit();
    let sitter = Sitter {
        shared,
        index,
        seated: Cell::new(true),
        inside: Cell::new(false),
        polling: Cell::new(None),
        yielding: Cell::new(false),
        firing: Cell::new(false),
        precise: PreciseThread::new(),
        parker,
    };
    let _on_seat = SetSitter(SITTER.with(|before| before.replace(&raw const sitter)));
    let _deferring = allow_defer();
    sitter.run();
}

struct SetSitter(*const Sitter);

impl Drop for SetSitter {
    fn drop(&mut self) {
        SITTER.with(|sitter| sitter.set(self.0));
    }
}

/// Calls `f` with this thread's stay on a seat, if it has one.
#[inline]
pub(super) fn with_sitter<R>(f: impl FnOnce(Option<&Sitter>) -> R) -> R {
    let sitter = SITTER.with(Cell::get);
    // SAFETY: a pointer is only there while `sit` on this thread's stack vouches for it.
    f(unsafe { sitter.as_ref() })
}

/// Opens a core section if this thread sits on a seat of `shared`.
#[inline]
fn with_core_of<R>(
    shared: *const MultiThread,
    f: impl FnOnce(Option<(&Sitter, CoreSection<'_>)>) -> R,
) -> R {
    with_sitter(|sitter| match sitter {
        Some(sitter) if ptr::eq(Arc::as_ptr(&sitter.shared), shared) => {
            f(sitter.enter().map(|core| (sitter, core)))
        }
        _ => f(None),
    })
}

/// Takes a new task in, if this thread is a worker of `shared`; else gives it back.
pub(super) fn spawn_local(shared: &Arc<MultiThread>, runnable: Runnable) -> Option<Runnable> {
    with_core_of(Arc::as_ptr(shared), |here| {
        let Some((sitter, mut core)) = here else { return Some(runnable) };
        core.refs.take_one(shared);
        sitter.seat().metrics.spawned.add(1);
        sitter.push_woken(core, runnable);
        None
    })
}

/// Queues an entry here, if this thread is a worker of `shared`; else gives it back.
pub(super) fn schedule_local(shared: *const MultiThread, runnable: Runnable) -> Option<Runnable> {
    with_core_of(shared, |here| {
        let Some((sitter, core)) = here else { return Some(runnable) };
        sitter.push_woken(core, runnable);
        None
    })
}

/// Takes back the reference of a freed cell, if this thread is a worker of `shared`.
pub(crate) fn release_local(shared: *const MultiThread) -> bool {
    with_core_of(shared, |here| {
        let Some((sitter, mut core)) = here else { return false };
        // SAFETY: the caller passes the cell's reference on.
        unsafe { core.refs.put_one(&sitter.shared) };
        true
    })
}

/// Takes a reference that keeps `shared`, if this thread is a worker of it.
#[cfg(feature = "time")]
pub(crate) fn retain_local(shared: &Arc<MultiThread>) -> bool {
    with_core_of(Arc::as_ptr(shared), |here| {
        let Some((_, mut core)) = here else { return false };
        core.refs.take_one(shared);
        true
    })
}

/// Calls `f` with this worker's timers, in a core section, if this thread is a worker of `shared`.
#[cfg(feature = "time")]
pub(crate) fn with_own_timers<R>(
    shared: *const MultiThread,
    f: impl FnOnce(Option<&mut SeatTimers>) -> R,
) -> R {
    with_core_of(shared, |here| match here {
        Some((_, mut core)) => f(Some(&mut core.timers)),
        None => f(None),
    })
}

/// Keeps `waker` until the worker has looked at its driver. False if this thread has no seat.
pub(crate) fn defer(waker: &Waker) -> bool {
    with_sitter(|sitter| {
        let Some(sitter) = sitter.filter(|sitter| sitter.seated.get()) else { return false };
        // Not any task: one that runs inside of another, in a `LocalSet` say, returns to that one.
        if sitter.polling.get().is_some_and(|task| is_waker_of(waker, task)) {
            sitter.yielding.set(true);
            return true;
        }
        let waker = waker.clone();
        match sitter.enter() {
            Some(mut core) => core.deferred.push(waker),
            None => waker.wake(),
        }
        true
    })
}

/// The index of the worker this thread is, whatever the runtime.
pub(crate) fn worker_index() -> Option<usize> {
    with_sitter(|sitter| sitter.map(|sitter| sitter.index))
}

impl Sitter {
    #[inline]
    pub(super) fn seat(&self) -> &Seat {
        &self.shared.seats[self.index]
    }

    /// Opens a core section; none if the seat was given away.
    #[inline]
    pub(super) fn enter(&self) -> Option<CoreSection<'_>> {
        if !self.seated.get() {
            return None;
        }
        debug_assert!(!self.inside.get(), "user code ran inside a core section");
        self.inside.set(true);
        Some(CoreSection { sitter: self })
    }

    fn run(&self) {
        let mut busy_since = Instant::now();
        loop {
            let Some(next) = self.next() else { return };
            match next {
                Next::Run(runnable) => self.run_task(runnable),
                Next::Maintain => self.maintain(),
                Next::Nothing => {
                    self.seat().metrics.add_busy(busy_since);
                    self.run_dry();
                    busy_since = Instant::now();
                }
                Next::Stop => {
                    self.seat().metrics.add_busy(busy_since);
                    return self.stop();
                }
            }
        }
    }

    /// What to do next; none if the seat is gone.
    #[inline]
    fn next(&self) -> Option<Next> {
        let mut core = self.enter()?;
        if core.until_maintenance == 0 {
            core.until_maintenance = self.shared.config.event_interval;
            return Some(if self.shared.is_stopping() { Next::Stop } else { Next::Maintain });
        }
        core.until_maintenance -= 1;
        core.until_inject -= 1;
        if core.until_inject == 0 {
            core.until_inject = core.inject_pace.polls_between();
            if let Some(runnable) = self.shared.inject.pop() {
                return Some(Next::Run(runnable));
            }
        }
        let local = core.lifo.take().or_else(|| core.queue.pop(&self.seat().queue));
        Some(match local.or_else(|| self.take_injected(&mut core)) {
            Some(runnable) => Next::Run(runnable),
            None if core.has_deferred() => Next::Maintain,
            None => Next::Nothing,
        })
    }

    /// Takes a fair share of the inject queue: one entry to run, the others into the own queue.
    fn take_injected(&self, core: &mut SeatCore) -> Option<Runnable> {
        let inject = &self.shared.inject;
        if inject.is_empty() {
            return None;
        }
        let share = |len: usize| (len / self.shared.workers() + 1).min(INJECT_BATCH_MAX);
        let mut first = None;
        inject.pop_many(share, |runnable| {
            if first.is_none() {
                first = Some(runnable);
            } else {
                core.queue.push(&self.seat().queue, runnable);
            }
        });
        first
    }

    /// Polls a task, and those that it woke last.
    fn run_task(&self, mut runnable: Runnable) {
        self.end_search();
        let _budget = budget::replace(Budget::INITIAL);
        let mut lifo_polls = 0;
        loop {
            self.poll(runnable);
            let Some(mut core) = self.enter() else { return };
            let Some(woken) = core.lifo.take() else {
                core.lifo_enabled = self.shared.config.lifo_slot;
                self.seat().metrics.note_budget();
                break;
            };
            if !budget::has_remaining() {
                self.seat().metrics.forced_yields.add(1);
                core.queue.push(&self.seat().queue, woken);
                break;
            }
            lifo_polls += 1;
            if lifo_polls >= LIFO_POLLS_MAX {
                core.lifo_enabled = false;
            }
            drop(core);
            runnable = woken;
        }
        if self.shared.idle.is_anybody_idle() {
            self.share_work();
        }
    }

    /// Polls one task and sees to what becomes of it. User code runs in here.
    #[inline]
    fn poll(&self, runnable: Runnable) {
        let metrics = &self.seat().metrics;
        metrics.polls.add(1);
        self.polling.set(Some(runnable.task()));
        let hooks = &self.shared.config.hooks;
        let polled = if hooks.before_poll.is_none() && hooks.after_poll.is_none() {
            runnable.run()
        } else {
            self.poll_with_hooks(runnable)
        };
        self.polling.set(None);
        match polled {
            Polled::Pending(running) => self.settle(running),
            Polled::Ended(ended) => self.end(ended),
        }
    }

    #[cold]
    fn poll_with_hooks(&self, runnable: Runnable) -> Polled {
        let hooks = &self.shared.config.hooks;
        config::call_for(&hooks.before_poll, &runnable);
        let polled = runnable.run();
        // SAFETY: whatever became of it, we have the reference that keeps it alive.
        config::call_for(&hooks.after_poll, unsafe { polled.task().as_ref() });
        polled
    }

    /// Lets a task wait, or queues it again if it was woken during its poll.
    #[inline]
    fn settle(&self, running: Running) {
        let yields = self.yielding.take();
        let Some(mut core) = self.enter() else {
            return self.shared.settle_seatless(running, yields);
        };
        // SAFETY: all tasks of this scheduler have a `Home`.
        let home = unsafe { running.home::<Home>() };
        // SAFETY: a live task's home is valid.
        if unsafe { home.as_ref() }.place == Place::Fresh {
            // SAFETY: our seat's home lives as long as the one it replaces; a fresh task is in no list.
            unsafe {
                running.set_home(self.seat().home.as_ptr());
                core.owned.push_front(running.task());
            }
        }
        if yields {
            core.yielded.push(running.requeue());
        } else if let Some(again) = running.idle() {
            self.seat().metrics.local_schedules.add(1);
            core.queue.push(&self.seat().queue, again);
        }
    }

    /// Takes leave of a task that has ended. User code runs in here.
    #[inline]
    fn end(&self, ended: Finishing) {
        // SAFETY: all tasks of this scheduler have a `Home`, valid as long as they live.
        let place = unsafe { ended.home::<Home>().as_ref() }.place;
        self.yielding.set(false);
        let Some(mut core) = self.enter().filter(|_| place != Place::Common) else {
            return self.shared.end_seatless(ended);
        };
        self.seat().metrics.ended.add(1);
        let mut elsewhere = None;
        match place {
            Place::Seat(index) if index == self.index => {
                // SAFETY: it is in our list.
                unsafe { core.owned.remove(ended.task()) };
            }
            Place::Seat(index) => {
                core.ended_elsewhere = core.ended_elsewhere.wrapping_add(1);
                elsewhere = Some((index, core.ended_elsewhere % ENDED_ELSEWHERE_MAX == 0));
            }
            Place::Fresh | Place::Common => {}
        }
        drop(core);
        // SAFETY: the scheduler's reference keeps the task alive.
        config::call_for(&self.shared.config.hooks.terminate, unsafe { ended.task().as_ref() });
        let Some((index, is_much)) = elsewhere else { return ended.complete() };
        self.shared.seats[index].push_ended(ended.complete_keeping_ref());
        if is_much {
            self.shared.call_for_ended();
        }
    }

    /// Puts a woken or new task next in line.
    #[inline]
    fn push_woken(&self, mut core: CoreSection<'_>, runnable: Runnable) {
        self.seat().metrics.local_schedules.add(1);
        let behind = if core.lifo_enabled { core.lifo.replace(runnable) } else { Some(runnable) };
        let Some(behind) = behind else { return };
        core.queue.push(&self.seat().queue, behind);
        drop(core);
        if !self.firing.get() && self.shared.idle.wants_wake() {
            self.shared.wake_worker();
        }
    }

    /// Lets idle workers have what this one does not get to.
    #[cold]
    fn share_work(&self) {
        let Some(mut core) = self.enter() else { return };
        if core.fired.goes_on() {
            return;
        }
        let queue = &self.seat().queue;
        if queue.is_empty() && core.queue.held_back() > 1 {
            core.queue.share_batch(queue);
        }
        drop(core);
        if !queue.is_empty() && self.shared.idle.wants_wake() {
            self.shared.wake_worker();
        }
    }

    /// What is due every so many polls: a look at the driver, and clearing up.
    fn maintain(&self) {
        let is_just_back = self.enter().is_some_and(|mut core| take(&mut core.is_from_driver));
        if !is_just_back {
            self.shared.driver.look();
        }
        self.serve_timers();
        self.wake_deferred();
        self.clear_ended();
        if let Some(mut core) = self.enter() {
            core.inject_pace.measure(self.seat().metrics.polls.get());
        }
    }

    pub(super) fn wake_deferred(&self) {
        let Some(mut core) = self.enter() else { return };
        let core_ref = &mut *core;
        for runnable in core_ref.yielded.drain(..) {
            self.seat().metrics.local_schedules.add(1);
            core_ref.queue.push(&self.seat().queue, runnable);
        }
        if core.deferred.is_empty() {
            return;
        }
        let mut deferred = take(&mut core.deferred);
        drop(core);
        for waker in deferred.drain(..) {
            // Somebody else's code: its panic must neither end the worker nor cost others their wake.
            shield(|| waker.wake());
        }
        if let Some(mut core) = self.enter() {
            // Keeps the buffer, unless somebody deferred meanwhile.
            if core.deferred.is_empty() {
                core.deferred = deferred;
            }
        }
    }

    /// Fires the timers that are due. True if any of the seat's own did.
    fn serve_timers(&self) -> bool {
        self.firing.set(true);
        let fired = self.shared.info.time.serve(&self.seat().left_timers, |f| {
            if let Some(mut core) = self.enter() {
                f(&mut core.timers);
            }
        });
        self.firing.set(false);
        if fired > 0 {
            let are_few = self.enter().is_some_and(|mut core| core.fired.add(fired));
            if !are_few && self.shared.idle.wants_wake() {
                self.shared.wake_worker();
            }
        }
        fired > 0
    }

    fn clear_ended(&self) {
        let seat = self.seat();
        if seat.has_ended() {
            let ended = self.enter().map(|mut core| seat.take_ended(&mut core));
            drop(ended);
        }
    }

    /// No task at hand: looks around, and sleeps if there is nothing.
    fn run_dry(&self) {
        if let Some(runnable) = self.search() {
            return self.run_task(runnable);
        }
        self.sleep();
    }

    /// Looks for tasks at other workers' for a while.
    fn search(&self) -> Option<Runnable> {
        let mut core = self.enter()?;
        if take(&mut core.fired.skip_search) && !core.searching {
            return None;
        }
        core.fired.end();
        if !core.searching {
            core.searching = self.shared.idle.begin_search();
        }
        if !core.searching {
            return None;
        }
        let mut now = Instant::now();
        let (until, mut next_look) = (now + SEARCH_MAX, now);
        loop {
            if let Some(runnable) = self.steal(&mut core) {
                return Some(runnable);
            }
            if let Some(runnable) = self.take_injected(&mut core) {
                return Some(runnable);
            }
            if self.shared.is_stopping() || now >= until {
                return None;
            }
            if now >= next_look {
                next_look = now + SEARCH_LOOKS_EVERY;
                // Wakers are somebody else's code.
                drop(core);
                self.shared.driver.look();
                core = self.enter()?;
                let woken = core.lifo.take().or_else(|| core.queue.pop(&self.seat().queue));
                if woken.is_some() {
                    return woken;
                }
            } else {
                for _ in 0..16 {
                    hint::spin_loop();
                }
            }
            now = Instant::now();
        }
    }

    fn steal(&self, core: &mut SeatCore) -> Option<Runnable> {
        let workers = self.shared.workers();
        let start = core.rng.below(workers as u32) as usize;
        let own = self.seat();
        for i in 0..workers {
            let index = (start + i) % workers;
            if index == self.index {
                continue;
            }
            let victim = &self.shared.seats[index].queue;
            if let Some((runnable, count)) = victim.steal_into(&own.queue, &mut core.queue) {
                own.metrics.steal_operations.add(1);
                own.metrics.steals.add(count as u64);
                return Some(runnable);
            }
        }
        None
    }

    /// Work was found: stops searching, and lets another search if there is more.
    #[inline]
    fn end_search(&self) {
        let Some(mut core) = self.enter() else { return };
        if !core.searching {
            return;
        }
        core.searching = false;
        let own_are_few = core.fired.is_on();
        drop(core);
        if !own_are_few {
            self.shared.end_search();
        } else if self.shared.idle.end_search() && self.shared.has_work_besides(self.index) {
            self.shared.wake_worker();
        }
    }

    fn sleep(&self) {
        self.clear_ended();
        let was_timer = self.serve_timers();
        config::call(&self.shared.config.before_park);
        let Some(mut core) = self.enter() else { return };
        core.fired.skip_search = was_timer;
        if core.is_idle() {
            let searching = take(&mut core.searching);
            let until = self.shared.info.time.until(&core.timers);
            drop(core);
            self.sleep_unless_work(searching, &until);
        } else {
            drop(core);
        }
        config::call(&self.shared.config.after_unpark);
    }

    fn sleep_unless_work(&self, was_searching: bool, until: &Until<'_>) {
        let (shared, seat) = (&*self.shared, self.seat());
        shared.idle.begin_sleep(self.index, was_searching);
        let sees_work = shared.has_visible_work();
        let mut was_in_driver = false;
        if !sees_work && !shared.is_stopping() {
            seat.metrics.parks.add(1);
            self.precise.wait(until);
            was_in_driver = seat.sleep.sleep(&shared.driver, &self.parker, until);
            seat.metrics.unparks.add(1);
        } else {
            // What is seen and was not found is in somebody's hands just now.
            hint::spin_loop();
        }
        let searching = shared.idle.end_sleep(self.index, sees_work);
        let was_timer = self.serve_timers();
        if let Some(mut core) = self.enter() {
            core.searching = searching;
            // Woken by a timer, if only to see that it is not its time yet: nobody has work for us.
            let is_idle = core.is_idle() && seat.queue.is_empty();
            core.fired.skip_search = !searching && (was_timer || is_idle);
            core.is_from_driver = was_in_driver;
            core.inject_pace.restart(seat.metrics.polls.get());
            // Whatever woke us, stopping among it, is looked at first.
            core.until_maintenance = 0;
        } else if searching {
            // A waker that the driver called gave the seat away: we found nothing, but somebody must.
            shared.end_search();
        }
    }

    fn stop(&self) {
        if let Some(core) = self.enter() {
            if core.searching {
                let _nobody_searches_for_a_stopping_runtime = self.shared.idle.end_search();
            }
        }
        self.seated.set(false);
        if self.shared.worker_stopped() {
            self.shared.clear_up();
        }
    }
}

enum Next {
    Run(Runnable),
    /// The driver and clearing up are due.
    Maintain,
    Nothing,
    Stop,
}

#[cfg(all(test, wakeful_loom))]
#[path = "worker/tests/loom.rs"]
mod loom;
