//! One timer of a runtime, in whichever wheel it is armed.
//!
//! A timer is armed in the wheel of the worker that polls it, or in the external wheel if its
//! thread is no worker. It may be polled on another thread later, which then moves the timer to its
//! own wheel.

use super::cell_refs::{CellRefs, KeptByCells};
#[cfg(feature = "test-util")]
use super::context::with_current;
use super::{RuntimeInfo, SchedulerHandle, current_thread, multi_thread};
use crate::timers::{ShutDown, TimeHandle, WorkerTimers};
use std::num::NonZero;
use std::ptr::NonNull;
use std::task::{Poll, Waker};
use wakeful_reactor::time::{ArmedTimer, LeftEntry, LeftTimer, Looked};

/// A pointer to the scheduler, stored inside the scheduler itself: a timer needs a single pointer
/// to this field, whatever the scheduler's kind.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TimerHome {
    CurrentThread(*const current_thread::CurrentThread),
    MultiThread(*const multi_thread::MultiThread),
}

/// A reference that keeps a scheduler's memory alive. On a worker it is taken without an atomic
/// operation.
///
/// The lowest bits of the pointer hold a tag for the timer's user. That makes a `Sleep` 32 bytes
/// instead of 40; futures hold `Sleep`s, often two of them.
#[derive(Debug)]
struct SchedulerRef(NonNull<TimerHome>);

// SAFETY: both schedulers are `Sync`, and the reference may be released on any thread.
unsafe impl Send for SchedulerRef {}
// SAFETY: as above.
unsafe impl Sync for SchedulerRef {}

/// The bits of a `TimerHome`'s address that are always zero, because of its alignment.
const TAG_MASK: usize = align_of::<TimerHome>() - 1;

impl SchedulerRef {
    fn new(scheduler: &SchedulerHandle) -> SchedulerRef {
        let home = match scheduler {
            SchedulerHandle::CurrentThread(scheduler) => {
                CellRefs::take_one(scheduler);
                &scheduler.timer_home
            }
            SchedulerHandle::MultiThread(scheduler) => {
                CellRefs::take_one(scheduler);
                &scheduler.timer_home
            }
        };
        SchedulerRef(NonNull::from(home))
    }

    fn tag(&self) -> usize {
        self.0.addr().get() & TAG_MASK
    }

    fn set_tag(&mut self, tag: usize) {
        debug_assert!(tag <= TAG_MASK, "a tag has to fit into the pointer");
        self.0 = self.home_ptr().map_addr(|address| address | tag);
    }

    fn home_ptr(&self) -> NonNull<TimerHome> {
        let without_tag = |address: NonZero<usize>| NonZero::new(address.get() & !TAG_MASK);
        self.0.map_addr(|address| without_tag(address).expect("nothing lies at address zero"))
    }

    #[inline]
    fn home(&self) -> TimerHome {
        // SAFETY: it points to a field of the scheduler, which this reference keeps alive. The
        // field never changes.
        unsafe { *self.home_ptr().as_ref() }
    }

    fn info(&self) -> &RuntimeInfo {
        // SAFETY: this reference keeps the scheduler alive.
        unsafe {
            match self.home() {
                TimerHome::CurrentThread(scheduler) => &(*scheduler).info,
                TimerHome::MultiThread(scheduler) => &(*scheduler).info,
            }
        }
    }

    /// Calls `f` with this thread's own timers, if the thread is a worker of this runtime. `f` must
    /// not run user code.
    #[inline]
    fn with_worker_timers<R>(&self, f: impl FnOnce(Option<&mut WorkerTimers>) -> R) -> R {
        match self.home() {
            TimerHome::CurrentThread(scheduler) => with_own_timers(scheduler, f),
            TimerHome::MultiThread(scheduler) => with_own_timers(scheduler, f),
        }
    }

    /// Passes a timer that no task waits for any more to the worker that has it in its wheel.
    fn push_left(&self, owner: usize, left: LeftEntry) {
        // SAFETY: this reference keeps the scheduler alive.
        unsafe {
            match self.home() {
                TimerHome::CurrentThread(scheduler) => (*scheduler).push_left_timer(left),
                TimerHome::MultiThread(scheduler) => (*scheduler).push_left_timer(owner, left),
            }
        }
    }
}

impl Drop for SchedulerRef {
    fn drop(&mut self) {
        // SAFETY: `new` took one reference, which is released here once. It keeps the scheduler
        // alive up to the call.
        unsafe {
            match self.home() {
                TimerHome::CurrentThread(scheduler) => CellRefs::give_one(scheduler),
                TimerHome::MultiThread(scheduler) => CellRefs::give_one(scheduler),
            }
        }
    }
}

#[inline]
fn with_own_timers<S: KeptByCells, R>(
    scheduler: *const S,
    f: impl FnOnce(Option<&mut WorkerTimers>) -> R,
) -> R {
    S::with_own_core(scheduler, |own| f(own.map(|(_, timers)| timers)))
}

/// A timer, armed or not.
#[derive(Debug)]
pub(crate) struct Timer {
    armed: Option<ArmedTimer>,
    scheduler: SchedulerRef,
}

impl Timer {
    /// Creates a timer of `scheduler`'s runtime. It is not armed.
    pub(crate) fn new(scheduler: &SchedulerHandle) -> Timer {
        Timer { armed: None, scheduler: SchedulerRef::new(scheduler) }
    }

    pub(crate) fn time(&self) -> &TimeHandle {
        &self.scheduler.info().time
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.armed.is_some()
    }

    /// Returns the tag that the timer's user has set: zero at first, at most seven.
    pub(crate) fn tag(&self) -> usize {
        self.scheduler.tag()
    }

    pub(crate) fn set_tag(&mut self, tag: usize) {
        self.scheduler.set_tag(tag);
    }

    /// Returns whether the timer is armed and its deadline has been reached.
    pub(crate) fn is_due(&self) -> bool {
        self.armed.as_ref().is_some_and(ArmedTimer::is_due)
    }

    /// Returns whether `deadline_ns` lies so far back that no program expects to wait for it.
    ///
    /// In Tokio a timer fires when the millisecond of its deadline has ended and the driver has
    /// looked at the timers since. So in Tokio a sleep that is already due at its first poll still
    /// lets other tasks run, and programs rely on that. A deadline that Tokio would not wait for is
    /// *past*. The time up to which this thread has served its timers is known without reading the
    /// clock. A thread without timers reads the clock.
    pub(crate) fn is_past(&self, deadline_ns: u64) -> bool {
        let clock = &self.time().clock;
        if clock.is_changed() {
            return deadline_ns <= clock.now_ns();
        }
        let served_ns = self.scheduler.with_worker_timers(|own| own.map(|own| own.served_ns()));
        is_past(deadline_ns, served_ns.unwrap_or_else(|| clock.now_ns()))
    }

    /// Arms the timer, which must not be armed.
    pub(crate) fn arm(&mut self, deadline_ns: u64, waker: Option<Waker>) -> Result<(), ShutDown> {
        debug_assert!(self.armed.is_none(), "`rearm` is for timers that are armed");
        let mut waker = waker;
        let armed = self.scheduler.with_worker_timers(|own| {
            let own = own?.get();
            Some(own.arm(deadline_ns, waker.take()))
        });
        self.armed = Some(match armed {
            Some(armed) => armed,
            None => self.time().arm_external(deadline_ns, waker)?,
        });
        Ok(())
    }

    /// Arms the timer for a new deadline, whether it is armed or not, and keeps its waker.
    ///
    /// Returns `Ready`, and changes nothing, if the new deadline is known to be
    /// [past](Self::is_past). On the machine's clock this considers only how far this thread has
    /// served its timers, because reading the clock costs more than arming a timer.
    #[inline]
    pub(crate) fn rearm(&mut self, deadline_ns: u64) -> Result<Poll<()>, ShutDown> {
        let clock = &self.scheduler.info().time.clock;
        let now_ns = clock.is_changed().then(|| clock.now_ns());
        let mut is_worker = false;
        let rearmed = self.scheduler.with_worker_timers(|own| {
            is_worker = own.is_some();
            let is_past = match now_ns {
                Some(now_ns) => deadline_ns <= now_ns,
                None => own.as_ref().is_some_and(|own| is_past(deadline_ns, own.served_ns())),
            };
            if is_past {
                return Some(Poll::Ready(()));
            }
            let timer = self.armed.as_mut()?;
            own?.of(timer)?.rearm(timer, deadline_ns);
            Some(Poll::Pending)
        });
        match rearmed {
            Some(rearmed) => Ok(rearmed),
            None if is_worker => self.move_here(deadline_ns).map(|()| Poll::Pending),
            None => self.rearm_external(deadline_ns).map(|()| Poll::Pending),
        }
    }

    /// Arms the timer in this thread's wheel, if it is armed elsewhere or not at all.
    #[cold]
    fn move_here(&mut self, deadline_ns: u64) -> Result<(), ShutDown> {
        let waker = self.armed.take().and_then(|timer| self.leave_behind(timer));
        self.arm(deadline_ns, waker)
    }

    /// Arms the timer on a thread that runs no worker, where an external timer stays in its wheel.
    fn rearm_external(&mut self, deadline_ns: u64) -> Result<(), ShutDown> {
        let time = &self.scheduler.info().time;
        let armed = self.armed.as_mut();
        let is_rearmed = armed.is_some_and(|timer| time.rearm_external(timer, deadline_ns));
        if is_rearmed { Ok(()) } else { self.move_here(deadline_ns) }
    }

    /// Registers `waker` for the deadline, or returns `Ready` if the deadline has been reached. The
    /// timer must be armed. Runs user code: `waker` is cloned and the old waker dropped.
    pub(crate) fn poll(&mut self, waker: &Waker) -> Poll<()> {
        let timer = self.armed.as_mut().expect("a timer that is polled is armed");
        let looked =
            self.scheduler.with_worker_timers(|own| Some(own?.of(timer)?.look(timer, waker)));
        match looked {
            Some(Looked::Due) => return Poll::Ready(()),
            Some(Looked::Waits) => return Poll::Pending,
            Some(Looked::OtherWaker) => {}
            None => return timer.poll(waker),
        }
        // The clone is user code: during it the thread may lose its worker. So the timers are
        // looked up again.
        let mut new = Some(waker.clone());
        let replaced = self.scheduler.with_worker_timers(|own| {
            let own = own?.of(timer)?;
            Some(own.set_waker(timer, new.take()?))
        });
        match replaced {
            None => timer.poll(waker),
            Some(Ok(_old)) => Poll::Pending,
            Some(Err(_new)) => Poll::Ready(()),
        }
    }

    /// Disarms the timer. Returns its waker, which will not be called.
    pub(crate) fn disarm(&mut self) -> Option<Waker> {
        let timer = self.armed.take()?;
        let mut timer = Some(timer);
        let waker = self.scheduler.with_worker_timers(|own| {
            let own = own?.of(timer.as_ref()?)?;
            own.disarm(timer.take()?)
        });
        match timer {
            None => waker,
            Some(timer) => self.leave_behind(timer),
        }
    }

    /// Disarms a timer that is not in this thread's wheel.
    #[cold]
    fn leave_behind(&self, timer: ArmedTimer) -> Option<Waker> {
        let timer = match self.time().disarm_external(timer) {
            Ok(waker) => return waker,
            Err(timer) => timer,
        };
        let owner = timer.owner().0 as usize;
        match timer.leave() {
            LeftTimer::Gone => None,
            LeftTimer::ToInbox(left, waker) => {
                self.scheduler.push_left(owner, left);
                waker
            }
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if self.is_armed() {
            drop(self.disarm());
        }
    }
}

/// Returns whether Tokio's timers, which count whole milliseconds from the runtime's start, would
/// have fired by `served_ns`.
fn is_past(deadline_ns: u64, served_ns: u64) -> bool {
    const RESOLUTION_NS: u64 = 1_000_000;
    deadline_ns == 0 || deadline_ns.saturating_add(RESOLUTION_NS) <= served_ns
}

/// Returns the time of the current runtime's clock, or `None` outside a runtime.
#[cfg(feature = "test-util")]
pub(crate) fn current_now() -> Option<std::time::Instant> {
    with_current(|scheduler| scheduler.info().time.clock.now()).ok()
}
