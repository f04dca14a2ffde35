//! The monitor's thread: how it waits between two looks, wakes up and ends.

use super::monitor_alarm::MonitorAlarm;
use std::io;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom, thread};
use wakeful_base::threads::{self, ThreadRole};

use parking::park_for;
pub(super) use parking::{park, unpark};

/// A runtime's monitor thread, if one has been started.
///
/// Between two looks the monitor waits for a tick. If all watched threads are parked, it **sleeps**
/// until [`MonitorAlarm`] rings, because one of them has been awake for some time.
///
/// No watched thread stays unseen: a thread that unparks marks itself as awake and then checks
/// whether the monitor sleeps. The monitor marks itself as sleeping and then checks whether all
/// threads are parked. Both sides are sequentially consistent, so at least one of them sees the
/// other.
pub(crate) struct MonitorThread {
    is_sleeping: AtomicBool,
    should_end: AtomicBool,
    alarm: MonitorAlarm,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl MonitorThread {
    /// Makes the state of a monitor; no thread runs yet.
    pub(crate) fn new() -> MonitorThread {
        MonitorThread {
            is_sleeping: AtomicBool::new(false),
            should_end: AtomicBool::new(false),
            alarm: MonitorAlarm::new(),
            thread: Mutex::new(None),
        }
    }

    /// Creates the kernel timer of the alarm.
    ///
    /// Called when the runtime is built, not when the thread starts: user code runs by then, and
    /// may rely on the process having a certain number of descriptors.
    pub(crate) fn prepare(&self) {
        self.alarm.prepare();
    }

    /// Starts the thread, which runs `look` until [`end`](Self::end) is called.
    ///
    /// `look` is boxed because std compiles its code for starting a thread once for each closure
    /// type.
    pub(crate) fn start(&self, look: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let mut thread = self.thread.lock();
        let thread_main: Box<dyn FnOnce() + Send> = Box::new(|| {
            threads::set_role(ThreadRole::Helper, 0);
            look();
        });
        *thread = Some(thread::Builder::new().name("wakeful-monitor".into()).spawn(thread_main)?);
        Ok(())
    }

    /// Notes that a watched thread has unparked at `now`; it is already marked as awake.
    ///
    /// `is_alone` returns whether no other watched thread is awake.
    #[inline]
    pub(crate) fn note_unpark(&self, now: Instant, is_alone: impl FnOnce() -> bool) {
        seq_cst_for_loom();
        if self.is_sleeping.load(SeqCst) {
            self.alarm.note_unpark(now, is_alone);
        }
    }

    /// Notes that a watched thread is about to park; it is already marked as parked.
    #[inline]
    pub(crate) fn note_park(&self, are_all_parked: impl FnOnce() -> bool) {
        self.alarm.note_park(are_all_parked);
    }

    /// Tells the thread to end, if there is one. May be called by any thread, more than once.
    pub(crate) fn end(&self) {
        self.should_end.store(true, SeqCst);
        if let Some(thread) = &*self.thread.lock() {
            self.alarm.ring_permanently();
            unpark(thread.thread());
        }
    }

    /// Waits until the thread has ended. Does nothing on the thread itself.
    pub(crate) fn join(&self) {
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|own| own.thread().id() != thread::current().id()) {
            let _its_panic_was_reported = thread.join();
        }
    }

    /// Waits for a tick of `length`. Returns false if the monitor should end.
    pub(crate) fn tick(&self, length: Duration) -> bool {
        // A stray unpark only makes the tick shorter.
        if !self.should_end.load(SeqCst) {
            park_for(length);
        }
        !self.should_end.load(SeqCst)
    }

    /// Sleeps until a watched thread has been awake for one to two `tick`s.
    ///
    /// Waits for a single tick instead if `are_all_parked` returns false. Returns false if the
    /// monitor should end.
    pub(crate) fn sleep_until_alarm(
        &self,
        tick: Duration,
        are_all_parked: impl FnOnce() -> bool,
    ) -> bool {
        if !self.wait_for_alarm(tick, None, are_all_parked) {
            return self.tick(tick);
        }
        !self.should_end.load(SeqCst)
    }

    /// Waits for `length`, or until a thread that unparked has been awake for up to one `tick`.
    ///
    /// Waits for a single tick instead if `are_others_parked` returns false, or if a look costs
    /// less than a sleep. Returns false if the monitor should end.
    pub(crate) fn long_tick(
        &self,
        tick: Duration,
        length: Duration,
        are_others_parked: impl FnOnce() -> bool,
    ) -> bool {
        if !self.is_sleep_cheap() || !self.wait_for_alarm(tick / 2, Some(length), are_others_parked)
        {
            return self.tick(tick);
        }
        !self.should_end.load(SeqCst)
    }

    /// Returns whether even a short sleep costs less than a look.
    pub(crate) fn is_sleep_cheap(&self) -> bool {
        self.alarm.is_cheap()
    }

    /// Waits for the alarm if `may_wait` returns true. Returns whether it has waited.
    fn wait_for_alarm(
        &self,
        grace: Duration,
        ring_after: Option<Duration>,
        may_wait: impl FnOnce() -> bool,
    ) -> bool {
        self.alarm.reset(grace, ring_after);
        self.is_sleeping.store(true, SeqCst);
        seq_cst_for_loom();
        let should_wait = may_wait() && !self.should_end.load(SeqCst);
        if should_wait {
            self.alarm.wait();
        }
        self.is_sleeping.store(false, SeqCst);
        should_wait
    }
}

#[cfg(not(wakeful_loom))]
mod parking {
    use super::*;

    pub(in crate::stall) fn park() {
        thread::park();
    }

    pub(super) fn park_for(length: Duration) {
        thread::park_timeout(length);
    }

    pub(in crate::stall) fn unpark(thread: &thread::Thread) {
        thread.unpark();
    }
}

/// Models poll instead of parking: loom has no time, and cannot tell an unpark from the release of
/// a lock that the thread may be waiting for.
#[cfg(wakeful_loom)]
mod parking {
    use super::*;

    pub(in crate::stall) fn park() {
        thread::yield_now();
    }

    pub(super) fn park_for(_: Duration) {
        thread::yield_now();
    }

    pub(in crate::stall) fn unpark(_: &thread::Thread) {}
}

#[cfg(all(test, wakeful_loom))]
#[path = "monitor_thread/tests/loom.rs"]
mod loom;
