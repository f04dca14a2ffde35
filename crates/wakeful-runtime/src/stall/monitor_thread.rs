//! The thread that looks at others now and then, and rests while they do.

use std::io;
use std::time::{Duration, Instant};
use wakeful_base::sync::atomic::{AtomicBool, Ordering::*};
use wakeful_base::sync::{Mutex, seq_cst_for_loom, thread};

/// A runtime's monitor, if it has one.
///
/// It looks, waits for a tick, looks again. When nobody is awake it **rests**, until one of those it
/// watches wakes up: that one says so first and then looks whether the monitor rests, the monitor says
/// that it rests and then looks whether all sleep. So one of them sees the other.
pub(crate) struct MonitorThread {
    rests: AtomicBool,
    ends: AtomicBool,
    thread: Mutex<Option<thread::JoinHandle<()>>>,
}

impl MonitorThread {
    /// None, until one is started.
    pub(crate) fn new() -> MonitorThread {
        MonitorThread {
            rests: AtomicBool::new(false),
            ends: AtomicBool::new(false),
            thread: Mutex::new(None),
        }
    }

    /// Starts the thread, which runs `look` until [`end`](Self::end) is called.
    ///
    /// In a box, as the pool's: what std does to start a thread is compiled for each type.
    pub(crate) fn start(&self, look: Box<dyn FnOnce() + Send>) -> io::Result<()> {
        let mut thread = self.thread.lock();
        *thread = Some(thread::Builder::new().name("wakeful-monitor".into()).spawn(look)?);
        Ok(())
    }

    /// For those who are watched: one that was asleep is awake, as others can see.
    #[inline]
    pub(crate) fn note_awake(&self) {
        seq_cst_for_loom();
        if self.rests.load(SeqCst) {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        if self.rests.swap(false, SeqCst) {
            if let Some(thread) = &*self.thread.lock() {
                thread.thread().unpark();
            }
        }
    }

    /// The thread is to end. From any thread, more than once if need be.
    pub(crate) fn end(&self) {
        self.ends.store(true, SeqCst);
        if let Some(thread) = &*self.thread.lock() {
            thread.thread().unpark();
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
        if !self.ends.load(SeqCst) {
            park_for(length);
        }
        !self.ends.load(SeqCst)
    }

    /// As [`tick`](Self::tick), but ends when one of those who are watched wakes up. They may do so all the
    /// time: it lasts for `least` all the same.
    pub(crate) fn long_tick(&self, least: Duration, length: Duration) -> bool {
        let begun = Instant::now();
        self.rests.store(true, SeqCst);
        let goes_on = self.tick(length);
        self.rests.store(false, SeqCst);
        let rest = least.saturating_sub(begun.elapsed());
        if rest.is_zero() { goes_on } else { self.tick(rest) }
    }

    /// For the thread itself: rests, if `all_sleep`, until one of them wakes up. False if it is to end.
    pub(crate) fn rest(&self, all_sleep: impl FnOnce() -> bool) -> bool {
        self.rests.store(true, SeqCst);
        seq_cst_for_loom();
        if all_sleep() {
            while self.rests.load(SeqCst) && !self.ends.load(SeqCst) {
                thread::park();
            }
        }
        self.rests.store(false, SeqCst);
        !self.ends.load(SeqCst)
    }
}

#[cfg(not(wakeful_loom))]
fn park_for(length: Duration) {
    thread::park_timeout(length);
}

// Loom has no time.
#[cfg(wakeful_loom)]
fn park_for(_: Duration) {
    thread::yield_now();
}

#[cfg(all(test, wakeful_loom))]
#[path = "monitor_thread/tests/loom.rs"]
mod loom;
