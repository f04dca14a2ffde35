//! The thread that looks at others now and then, and is_sleeping while they do.

use super::monitor_alarm::MonitorAlarm;
use std::io;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom, thread};

use parking::park_for;
pub(super) use parking::{park, unpark};

/// A runtime's monitor, if it has one.
///
/// It looks, waits for a tick, looks again. When nobody is awake it **is_sleeping**, until one of those it watches has been awake for
/// some time ([`MonitorAlarm`]): that one says that it is awake and then looks whether the monitor is_sleeping, the monitor says that it
/// is_sleeping and then looks whether all sleep. So one of them sees the other.
pub(crate) struct MonitorThread {
    is_sleeping: AtomicBool,
    should_end: AtomicBool,
    alarm: MonitorAlarm,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl MonitorThread {
    /// None, until one is started.
    pub(crate) fn new() -> MonitorThread {
        MonitorThread {
            is_sleeping: AtomicBool::new(false),
            should_end: AtomicBool::new(false),
            alarm: MonitorAlarm::new(),
            thread: Mutex::new(None),
        }
    }

    /// Gets what it takes of the kernel's. When the runtime is made, not with the thread: the user's code, which goes on
    /// then, may be counting descriptors.
    pub(crate) fn prepare(&self) {
        self.alarm.prepare();
    }

    /// Starts the thread, which runs `look` until [`end`](Self::end) is called.
    ///
    /// In a box, as the pool's: what std does to start a thread is compiled for each type.
    pub(crate) fn start(&self, look: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let mut thread = self.thread.lock();
        *thread = Some(thread::Builder::new().name("wakeful-monitor".into()).spawn(look)?);
        Ok(())
    }

    /// For those who are watched: one that was asleep is awake `now`, as others can see. `is_alone` if it is the only one.
    #[inline]
    pub(crate) fn note_unpark(&self, now: Instant, is_alone: impl FnOnce() -> bool) {
        seq_cst_for_loom();
        if self.is_sleeping.load(SeqCst) {
            self.alarm.note_unpark(now, is_alone);
        }
    }

    /// For those who are watched: one is about to sleep, and counts as asleep.
    #[inline]
    pub(crate) fn note_park(&self, are_all_parked: impl FnOnce() -> bool) {
        self.alarm.note_park(are_all_parked);
    }

    /// The thread is to end, if there is one. From any thread, more than once if need be.
    pub(crate) fn end(&self) {
        self.should_end.store(true, SeqCst);
        if let Some(thread) = &*self.thread.lock() {
            self.alarm.ring_permanently();
            unpark(thread.thread());
        }
    }

    /// Waits until the thread has ended, unless it is the caller.
    pub(crate) fn join(&self) {
        let thread = self.thread.lock().take();
        if let Some(thread) = thread.filter(|own| own.thread().id() != thread::current().id()) {
            let _its_panic_was_reported = thread.join();
        }
    }

    /// For the thread itself: waits for a tick. False if it is to end.
    pub(crate) fn tick(&self, length: Duration) -> bool {
        // A wake-up for something else only makes it shorter.
        if !self.should_end.load(SeqCst) {
            park_for(length);
        }
        !self.should_end.load(SeqCst)
    }

    /// For the thread itself: is_sleeping if `are_all_parked`, until one of them has been awake for a `tick` or two; if not, waits for one.
    /// False if it is to end.
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

    /// For the thread itself: waits for `length` if `are_others_parked`, or until one of them has been awake for a `tick` at most; only for a tick
    /// if not, or where that costs less. False if it is to end.
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

    /// Whether a rest costs less than a look even if it is short.
    pub(crate) fn is_sleep_cheap(&self) -> bool {
        self.alarm.is_cheap()
    }

    /// True if it has waited.
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

/// Loom has no time, and takes an unpark for the lock that a thread may be waiting for. So models ask again and again.
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
